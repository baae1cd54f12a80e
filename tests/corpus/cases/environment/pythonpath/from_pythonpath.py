WORD = "from pythonpath"
