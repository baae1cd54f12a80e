import sys
print("python script", sys.argv[1:], __name__)
