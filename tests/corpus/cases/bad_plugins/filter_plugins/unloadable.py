raise ImportError("this file cannot be imported")
