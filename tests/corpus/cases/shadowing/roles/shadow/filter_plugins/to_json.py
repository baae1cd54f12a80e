class FilterModule:
    def filters(self):
        return {"to_nice_json": lambda value: "shadowed to_nice_json"}
