#!/usr/bin/env python3
"""litmus_log.py FILE: reads a log of `remora run` by the rules of herd's log readers (mcompare7, msum7), and fails where they would
or where the numbers do not fit."""
import re
import sys

BLANK = r"[ \t]"
REG = LOC = r"[A-Za-z][A-Za-z0-9_.]*"
TEST_NAME = r"[A-Za-z0-9_/.\-+\[\]]+"
VALUE = r"-?(?:0x[0-9a-fA-F]+|[0-9]+)"
BINDING = re.compile(rf"{BLANK}*(?:[0-9]+:{REG}|\[?{LOC}\]?|{LOC}\[[0-9]+\]){BLANK}*={BLANK}*{VALUE}{BLANK}*;")


class Log:
    def __init__(self, text):
        self.lines = text.split("\n")
        self.at = 0

    def fail(self, reason):
        sys.exit(f"line {self.at + 1}: {reason}: {self.lines[self.at] if self.at < len(self.lines) else '<end>'}")

    def take(self, pattern, what):
        match = re.fullmatch(pattern, self.lines[self.at])
        if not match:
            self.fail(f"no {what}")
        self.at += 1
        return match


def read_states(log, count):
    """Sums of the counts: where the proposition holds, and where not."""
    sums, states = {"*": 0, ":": 0}, set()
    for _ in range(count):
        number, mark, rest = log.take(rf"([0-9]+){BLANK}*([*:])>(.*)", "state").groups()
        if rest in states:
            log.fail("a state twice")
        states.add(rest)
        sums[mark] += int(number)
        while rest:
            match = BINDING.match(rest)
            if not match:
                log.fail("not a state")
            rest = rest[match.end():]
    return sums["*"], sums[":"]


def read_test(log):
    name, kind = log.take(rf"Test{BLANK}+({TEST_NAME}){BLANK}+(\w+)", "test line").groups()
    while not log.lines[log.at].startswith("Histogram"):
        log.at += 1
    count = int(log.take(rf"Histogram{BLANK}+\(([0-9]+) states\)", "histogram").group(1))
    holds, fails = read_states(log, count)
    verdict = log.take(r"Ok|No", "verdict").group(0)
    log.take("", "empty line")
    log.take("Witnesses", "witnesses")
    positive, negative = map(int, log.take(r"Positive: ([0-9]+), Negative: ([0-9]+)", "numbers of witnesses").groups())
    if (positive, negative) != ((fails, holds) if kind == "Forbidden" else (holds, fails)):
        log.fail("witnesses and histogram differ")
    validated = log.take(r"Condition .+ is (NOT )?validated", "condition").group(1) is None
    expected = {"Allowed": holds > 0, "Forbidden": holds == 0, "Required": fails == 0}[kind]
    if validated != expected or (verdict == "Ok") != expected:
        log.fail("the wrong verdict")
    log.take(r"Hash=[0-9a-f]{32}", "hash")
    word, a, b = log.take(rf"Observation {re.escape(name)} (Always|Sometimes|Never) ([0-9]+) ([0-9]+)", "observation").groups()
    if (int(a), int(b)) != (holds, fails) or word != ("Never" if not holds else "Sometimes" if fails else "Always"):
        log.fail("the wrong observation")
    log.take(rf"Time {re.escape(name)} [0-9]+\.[0-9]+", "time")
    while log.at < len(log.lines) and not log.lines[log.at].startswith("Test "):
        log.at += 1


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        log = Log(file.read())
    tests = 0
    while log.at < len(log.lines):
        read_test(log)
        tests += 1
    print(f"{tests} tests read")


main()
