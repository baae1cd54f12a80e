class TestModule:
    def tests(self):
        return {"quite_odd": lambda value: value % 2 == 1}
