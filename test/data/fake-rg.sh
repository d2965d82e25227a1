#!/bin/sh
# Stands in for ripgrep: says its arguments as one match.
printf './a.txt\0007:%s\n' "$*"
