#!/usr/bin/env python3
"""killers.py LOG: which tests of a `remora check --json --engine both` log noticed a fault; how many, and the first.
The exit status is 1 if none did."""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as log:
        tests = [json.loads(line) for line in log]
    names = [test["name"] for test in tests if test["holds"] is False or not test["agree"]]
    if not names:
        sys.exit(1)
    print(f"{len(names)} tests, first {names[0]}")


main()
