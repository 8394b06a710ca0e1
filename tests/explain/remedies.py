#!/usr/bin/env python3
"""remedies.py REMORA FOLDER: is what `remora check --why` says would keep an order enough? For each test below the folder that asks for an
outcome (exists) which shows orders that are not kept, puts what is named where it is named, and checks again, until no such order is
left. The outcome must then be impossible, and not for want of runs. Left out are remedies that take something away. With REMORA_TEST_SCALE (percent) below 100, of so many tests."""
import glob
import os
import re
import subprocess
import sys
import tempfile

remora, folder = sys.argv[1:]
EACH = max(1, 100 // int(os.environ.get("REMORA_TEST_SCALE", "100")))
NOT_KEPT = "the hardware does not keep that order:\n"
ROUNDS = 4  # threads with the same code show their orders one after the other


def check(path):
    done = subprocess.run([remora, "check", "-q", "--why", path], capture_output=True, text=True, check=False)
    return done.stdout


def remedies(output):
    """(line, statement that it comes before, what to add; line and statement to be given a work id or None) for each step with a
    star."""
    circle = output[output.index("\nIn program order this outcome is impossible"):].split("\n  and so back to A.")[0]
    for step in re.split(r"\n(?=[* ] [A-Z]+\. P)", circle)[1:]:
        step = re.sub(r"\s+", " ", step)
        if step.startswith("*"):
            found = re.search(r"To keep it, (?:give \"(?P<without>.*?)\" \(line (?P<its>\d+)\) a work id, d say, and )?"
                              r"before P\d+'s \"(?P<later>.*?)\" \(line (?P<line>\d+)\) add (?P<remedy>.*?): ", step)
            yield found["line"], found["later"], found["remedy"], found["its"], found["without"]


def replace_last(text, line, old, new):
    lines = text.split("\n")
    at = lines[int(line) - 1].rfind(old)
    if at < 0:
        sys.exit(f"not found: line {line}: {old}")
    lines[int(line) - 1] = lines[int(line) - 1][:at] + new + lines[int(line) - 1][at + len(old):]
    return "\n".join(lines)


def statements(remedy):
    """"poll(1) 2 times (…)" and "get(t, y), with t a spare location of P0's node, and …" as code; None: there is more to do."""
    found = re.fullmatch(r"(?:(get\(t, .*?\)), with t a spare location of (P\d+)'s node, and )?(\w+\([^()]*\))(?: (\d+) times \(.*?\))?",
                         remedy)
    if not found:
        return None
    get, thread, call, times = found.groups()
    return "; ".join(([get.replace("(t,", f"(t{thread},")] if get else []) + [call] * int(times or 1))


def mend(text, line, later, remedy, its, without):
    for spare in re.findall(r"get\(t(P\d+),", remedy):
        if f" t{spare}" not in text:
            node = re.search(rf"^{spare} on (\d+)", text, re.M).group(1)
            text = text.replace("{", f"{{ node {node}: t{spare} = 9;", 1)
    if without:
        text = replace_last(text, its, without, without[:-1] + ", d)")
    return replace_last(text, line, later, remedy + "; " + later)


def observation(output):
    return re.search(r"^Observation .* (\w+) \d+ \d+$", output, re.M).group(1)


def mended(text, output, path):
    """The test's last output, and its text; None: a remedy is not one statement. output: what is said of the text."""
    for _ in range(ROUNDS):
        if NOT_KEPT not in output:
            break
        for place in remedies(output):
            remedy = statements(place[2])
            if not remedy:
                return None, text
            text = mend(text, *place[:2], remedy, *place[3:])
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        output = check(path)
    return output, text


def main():
    tried, wrong = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "mended.litmus")
        for test in sorted(glob.glob(os.path.join(folder, "**/*.litmus"), recursive=True))[::EACH]:
            with open(test, encoding="utf-8") as file:
                text = file.read()
            if not text.startswith("RDMA_") or not re.search(r"^exists", text, re.M):
                continue
            first = check(test)
            if NOT_KEPT not in first:
                continue
            output, new = mended(text, first, path)
            if output is None:
                continue
            tried += 1
            if observation(output) != "Never" or ("\nStates 0\n" in output and "\nStuck " not in first):
                wrong += 1
                print(f"{test}: still possible, or no run comes to its end:\n{new}")
    print(f"{tried} tests mended, {wrong} of them in vain")
    return 1 if wrong or tried * EACH < 50 else 0


sys.exit(main())
