#!/usr/bin/env python3
"""faulty_shm.py SHM.C OUT.C: the shm provider without the rule that a remote read drains the store buffer first."""
import pathlib
import sys

OLD = "    if (*thread->owes)\n        drain(thread);"
text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
assert text.count(OLD) == 1, "shm.c does not have the rule once"
pathlib.Path(sys.argv[2]).write_text(text.replace(OLD, "    (void)thread;"), encoding="utf-8")
