WORD = "collected util: first"
