"""Studies: the papers' tables and figures made again, the defaults with the curves that justify them, peers beside.

One file for each study, one line in `table.py`; `make study` runs them and writes docs/studies. Start with `study.py`.
"""
