#!/usr/bin/env python3
"""Reads what `remora check --json` prints and shows it as a table, one line a test, by folder."""
import json
import pathlib
import sys

KINDS = {"exists": "Allowed", "~exists": "Forbidden", "forall": "Required", "final": "-"}
VERDICTS = {True: "Ok", False: "No", None: "Undef"}


def main():
    tests = [json.loads(line) for line in sys.stdin]
    width = max([len(test["name"]) for test in tests] + [4])
    print(f"{'test':{width}}  {'kind':9}  verdict  {'states':>6}  {'engine':11}  {'seconds':>7}")
    folder = None
    for test in tests:
        if pathlib.PurePath(test["file"]).parent != folder:
            folder = pathlib.PurePath(test["file"]).parent
            print(f"{folder}/")
        verdict = VERDICTS[test["holds"]] + ("" if test["complete"] else " (partial)")
        print(
            f"{test['name']:{width}}  {KINDS[test['quantifier']]:9}  {verdict:7}  {len(test['states']):6}"
            f"  {test['engine']:11}  {test['seconds']:7.3f}"
        )
    held = sum(test["holds"] is True for test in tests)
    seconds = sum(test["seconds"] for test in tests)
    print(f"{len(tests)} tests, {held} hold, {seconds:.2f} s")


main()
