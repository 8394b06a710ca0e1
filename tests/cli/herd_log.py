"""herd_log.py FILE: reads a log by the rules of herd's log readers (mcompare7, msum7), and fails where they would.

Their lexer is line-oriented and tries to match at each place; here is what it accepts, in regular expressions. Besides, each test
must come with all its parts and the numbers must fit."""
import re
import sys

BLANK = r"[ \t]"
REG = LOC = r"[A-Za-z][A-Za-z0-9_.]*"
TEST_NAME = r"[A-Za-z0-9_/.\-+\[\]]+"
VALUE = r"-?(?:0x[0-9a-fA-F]+|[0-9]+)"
BINDING = re.compile(rf"{BLANK}*(?:([0-9]+:{REG})|\[?({LOC})\]?|({LOC}\[[0-9]+\])){BLANK}*={BLANK}*({VALUE}){BLANK}*;")
VERDICT = re.compile(r"(?:Loop[ \t]+)?(Undef|Succeeded|Failed|Ok|No|\?\?)")
ATOM = rf"(?:[0-9]+:{REG}|\[?{LOC}\]?|{LOC}\[[0-9]+\])=({VALUE})"


class Log:
    def __init__(self, text):
        self.lines = text.split("\n")
        self.at = 0

    def fail(self, reason):
        sys.exit(f"line {self.at + 1}: {reason}: {self.lines[self.at] if self.at < len(self.lines) else '<end>'}")

    def ended(self):
        return self.at >= len(self.lines) - 1

    def take(self, pattern, what):
        match = re.fullmatch(pattern, self.lines[self.at])
        if not match:
            self.fail(f"no {what}")
        self.at += 1
        return match


def check_condition(log, text):
    """herd parses the condition; what it can't parse it silently forgets, which we do not want."""
    body = re.fullmatch(r"(?:exists|~exists|forall|final)?\s*(.*)", text).group(1)
    for value in re.findall(ATOM, body):
        if not value.startswith("0x") and not -(1 << 63) <= int(value) < 1 << 63:
            log.fail("the condition has a number beyond 64 bits signed")
    rest = re.sub(ATOM, "", body)
    if re.sub(r"/\\|\\/|true|false|[~() ]", "", rest):
        log.fail("the condition has something unknown")


def read_states(log, count):
    states = set()
    for _ in range(max(count, 1)):
        line = log.lines[log.at]
        if count == 0:
            break
        # The readers take the longest match, so a state line may not begin like a verdict.
        if VERDICT.match(line):
            log.fail("a state that reads as a verdict")
        rest, state = line, []
        while rest.strip():
            match = BINDING.match(rest)
            if not match:
                log.fail("not a state")
            name = match.group(1) or match.group(2) or match.group(3)
            if match.group(4)[:2] != "0x" and not -(1 << 63) <= int(match.group(4)) < 1 << 63:
                log.fail("a number beyond 64 bits signed")
            state.append((name, match.group(4)))
            rest = rest[match.end():]
        if tuple(state) in states:
            log.fail("a state twice")
        states.add(tuple(state))
        log.at += 1
    if not VERDICT.match(log.lines[log.at]):
        log.fail("more states than announced, or no verdict")


def read_test(log):
    name, kind = log.take(rf"Test{BLANK}+({TEST_NAME}){BLANK}+(\w+)", "test line").groups()
    if kind not in ("Allowed", "Forbidden", "Required"):
        log.fail("unknown kind")
    while not log.lines[log.at].startswith("States"):  # the readers skip up to there
        log.at += 1
    count = int(log.take(rf"States{BLANK}+([0-9]+)", "number of states").group(1))
    read_states(log, count)
    log.at += 1  # the verdict
    log.take(r"Witnesses", "witnesses")
    positive, negative = map(int, log.take(r"Positive: ([0-9]+),? Negative: ([0-9]+)", "numbers of witnesses").groups())
    if positive + negative != count:
        log.fail("witnesses and states differ in number")
    check_condition(log, log.take(r"Condition (.+)", "condition").group(1))
    # From here to the hash every line must be `Key=…` or `Key NAME rest`, else the readers stop looking for the hash.
    seen, a, b = log.take(rf"Observation {re.escape(name)} (Always|Sometimes|Never) ([0-9]+) ([0-9]+)", "observation").groups()
    fulfilled = negative if kind == "Forbidden" else positive
    if (int(a), int(b)) != (fulfilled, count - fulfilled):
        log.fail("observation and witnesses differ")
    if seen != ("Never" if int(a) == 0 else "Always" if int(b) == 0 else "Sometimes"):
        log.fail("the wrong word of observation")
    log.take(rf"Time {re.escape(name)} [0-9]+\.[0-9]+", "time")
    log.take(r"Hash=[0-9a-f]{32}", "hash")
    while not log.ended() and not re.fullmatch(rf"Test{BLANK}+{TEST_NAME}(?:{BLANK}+{LOC})?", log.lines[log.at]):
        log.at += 1
    if log.lines[log.at - 1] != "":
        log.fail("no empty line before this one")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        log = Log(file.read())
    tests = 0
    while not log.ended():
        read_test(log)
        tests += 1
    if tests == 0:
        sys.exit("no test in the log")
    print(f"{tests} tests read")


main()
