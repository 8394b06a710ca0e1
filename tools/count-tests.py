#!/usr/bin/env python3
"""count-tests.py BUILD-FOLDER|JUNIT-FILE...: adds up the test cases in the JUnit logs that `meson test` left, and prints
`N passed, N failed, N skipped`. The exit status is 1 if something failed, or if a log is missing or empty."""
import json
import pathlib
import sys
import xml.etree.ElementTree as xml


def timeouts(logs):
    """The tests that did not end in their time: the JUnit log says nothing of that."""
    with open(logs / "testlog.json", encoding="utf-8") as lines:
        results = [json.loads(line) for line in lines]
    return {result["name"] for result in results if result["result"] in ("TIMEOUT", "INTERRUPT")}


def count(folder):
    """Passed, failed and skipped cases of one build folder."""
    passed = failed = skipped = 0
    log = pathlib.Path(folder)
    late = set()
    if log.is_dir():
        late = timeouts(log / "meson-logs")
        log = log / "meson-logs" / "testlog.junit.xml"
    for case in xml.parse(log).iter("testcase"):
        if case.get("name") in late:
            late.discard(case.get("name"))
            failed += 1
        elif case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed + len(late), skipped


def main():
    totals = [0, 0, 0]
    complete = True
    for folder in sys.argv[1:]:
        try:
            counts = count(folder)
        except (OSError, xml.ParseError) as error:
            print(f"count-tests: {folder}: {error}", file=sys.stderr)
            complete = False
            continue
        complete &= sum(counts) > 0
        totals = [a + b for a, b in zip(totals, counts)]
    print("%d passed, %d failed, %d skipped" % tuple(totals))
    sys.exit(0 if complete and totals[1] == 0 else 1)


main()
