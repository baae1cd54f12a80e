def help_with(word):
    return "role util %s" % word
