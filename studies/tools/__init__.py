"""One program for each tool that is set beside ours, run in an environment of its own: nothing here knows hushcount.

Each reads one word, JSON of the question: the file, epsilon, delta, and how many items of a person count. The lines
between `ask` and `end` are what a user must write. It prints what came back as JSON: items, counts, and half of a
95 % interval where the tool tells one. Programs `beyond_...` ask for more than a tool may answer, by `asked.py`.
"""
