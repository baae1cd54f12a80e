class FilterModule:
    def filters(self):
        return {"homely": lambda value: value + " of the home"}
