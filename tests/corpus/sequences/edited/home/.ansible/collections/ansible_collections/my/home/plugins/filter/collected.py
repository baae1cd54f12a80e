class FilterModule:
    def filters(self):
        return {"collected": lambda value: "collected filter: first"}
