class FilterModule:
    def filters(self):
        return {"shout": lambda value: value.upper()}
