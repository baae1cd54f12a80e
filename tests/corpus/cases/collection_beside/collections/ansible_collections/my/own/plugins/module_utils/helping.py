def help_with(word):
    return "collection util %s" % word
