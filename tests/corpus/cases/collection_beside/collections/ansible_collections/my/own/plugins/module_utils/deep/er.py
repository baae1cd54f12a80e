WORD = "deeper"
