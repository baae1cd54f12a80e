class FilterModule:
    def filters(self):
        return {"edited": lambda value: "filter: first"}
