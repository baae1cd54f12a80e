WORD = "module of the configured library"
