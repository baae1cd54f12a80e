class FilterModule:
    def filters(self):
        return {"there": lambda value: value + " config"}
