def split_args(text):
    return ["shadowed splitter", text]
