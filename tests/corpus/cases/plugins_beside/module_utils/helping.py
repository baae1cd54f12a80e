def help_with(word):
    return "beside util %s" % word
