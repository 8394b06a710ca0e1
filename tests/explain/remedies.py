#!/usr/bin/env python3
"""remedies.py REMORA FOLDER: is what `remora check --why` says would keep an order enough? For each test below the folder that asks for an
outcome (RDMA_WAIT, exists) which shows orders that are not kept, puts what is named where it is named, and checks again, until no
such order is left. The outcome must then be impossible. With REMORA_TEST_SCALE (percent) below 100, of so many tests."""
import glob
import os
import re
import subprocess
import sys
import tempfile

remora, folder = sys.argv[1:]
EACH = max(1, 100 // int(os.environ.get("REMORA_TEST_SCALE", "100")))
ROUNDS = 4  # threads with the same code show their orders one after the other


def check(path):
    done = subprocess.run([remora, "check", "-q", "--why", path], capture_output=True, text=True, check=False)
    return done.stdout


def lost(output):
    """(thread, earlier statement, later statement, what would keep them) for each step with a star."""
    circle = output[output.index("\nThe step"):].split("  and so back to 1.")[0]
    steps = [re.sub(r"\s+", " ", step) for step in re.split(r"\n(?=[* ] +\d+\. P)", circle)[1:]]
    for i, step in enumerate(steps):
        if step.startswith("*"):
            thread, earlier = re.match(r"\* ?\d+\. (P\d+) (.*?) \[", step).groups()
            later = re.search(r"\d+\. P\d+ (.*?) \[", steps[(i + 1) % len(steps)]).group(1)
            yield thread, earlier, later, re.search(r"Between them, (.*?) would keep it", step).group(1)


def mend(text, thread, earlier, later, remedy):
    if "work id" in remedy:
        remedy = ("sv_wait" if "sv_wait" in remedy else "wait") + "(" + re.search(r"(\w+)\)$", earlier).group(1) + ")"
    body = re.search(rf"^{thread} on .*?^\}}", text, re.M | re.S)
    at = body.group(0).rfind(later)
    if not body.group(0).find(earlier) < at:
        sys.exit(f"not found: {thread}: {later} behind {earlier}")
    at += body.start()
    return text[:at] + remedy + "; " + text[at:]


def outcome_after_mending(text, path):
    for _ in range(ROUNDS):
        output = check(path)
        if "that order is not kept" not in output:
            break
        for order in lost(output):
            text = mend(text, *order)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return re.search(r"^Observation .* (\w+) \d+ \d+$", check(path), re.M).group(1), text


def main():
    tried, wrong = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "mended.litmus")
        for test in sorted(glob.glob(os.path.join(folder, "**/*.litmus"), recursive=True))[::EACH]:
            with open(test, encoding="utf-8") as file:
                text = file.read()
            if "RDMA_WAIT" not in text or not re.search(r"^exists", text, re.M) or "that order is not kept" not in check(test):
                continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            observation, mended = outcome_after_mending(text, path)
            tried += 1
            if observation != "Never":
                wrong += 1
                print(f"{test}: still possible:\n{mended}")
    print(f"{tried} tests mended, {wrong} of them in vain")
    return 1 if wrong or tried * EACH < 50 else 0


sys.exit(main())
