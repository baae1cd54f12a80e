#!/bin/sh
echo "script said: $1 in $(pwd)"
