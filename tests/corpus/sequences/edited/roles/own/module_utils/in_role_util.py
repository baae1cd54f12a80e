WORD = "module_utils: first"
