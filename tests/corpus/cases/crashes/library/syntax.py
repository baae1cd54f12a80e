#!/usr/bin/python
def broken(:
