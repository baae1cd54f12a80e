WORD = "helper of the role"
