class FilterModule:
    def filters(self):
        return {"here": lambda value: "filtered " + value}
