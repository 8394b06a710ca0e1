#!/usr/bin/env python3
"""mutants.py REMORA MUTANTS.DEF FOLDER [--all]: which tests of the corpus notice each fault of src/model/mutants.def.

REMORA is built with -Dmutants=true. A fault is killed by a test whose operational verdict it changes, or whose number of stuck
ends. (Changed states that leave the verdict alone are shown, but are not enough: who reads a test reads its verdict.) Fails if one survives.
"""
import json
import os
import re
import subprocess
import sys

# Tests of the model itself; calls of libraries only make the exploration larger.
FOLDERS = ("idioms", "rules", "stuck", "x86")
# States: what nothing notices within the first limit is looked for within the second.
LIMITS = (25000, 1000000)


def entries(path):
    """(name, rule, text) of each MUTANT_ENTRY."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for m in re.finditer(r'^MUTANT_ENTRY\(\s*(\w+),\s*(\d+),.*?"([^"]*)"\)', text, re.M | re.S):
        yield m.group(1), int(m.group(2)), m.group(3)


def answers(remora, folder, mutant, limit):
    """What each test that is finished says: {file: (holds, stuck ends, states)}."""
    env = dict(os.environ)
    env.pop("REMORA_MUTANT", None)
    if mutant:
        env["REMORA_MUTANT"] = mutant
    # Every interleaving: the reduction's argument holds for the sound rules only.
    run = subprocess.run([remora, "check", "-q", "--json", "--engine", "operational", "--no-reduction",
                          "--max-states", str(limit),
                          *(os.path.join(folder, f) for f in FOLDERS)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, check=False)
    out = {}
    for line in run.stdout.decode().splitlines():
        r = json.loads(line)
        if r.get("complete"):
            states = tuple(sorted(tuple(sorted(s.items())) for s in r["states"]))
            out[r["file"]] = (r["holds"], r["stuck"], states)
    return out


def noticed(sound, broken):
    """The tests with another verdict, with other stuck ends, and with other states only."""
    both = [f for f in sound if f in broken]
    verdicts = [f for f in both if broken[f][0] != sound[f][0]]
    stuck = [f for f in both if f not in verdicts and broken[f][1] != sound[f][1]]
    states = [f for f in both if f not in verdicts and f not in stuck and broken[f][2] != sound[f][2]]
    return sorted(verdicts, key=lambda f: "rules" not in f), stuck, states


def main():
    remora, table, folder = sys.argv[1:4]
    show = None if "--all" in sys.argv else 3
    sound = [answers(remora, folder, None, limit) for limit in LIMITS]
    if not all(sound):
        print("nothing to look at")
        return 1
    alive, count = [], 0
    for name, rule, text in entries(table):
        count += 1
        for limit, right in zip(LIMITS, sound):
            verdicts, stuck, states = noticed(right, answers(remora, folder, name, limit))
            if verdicts or stuck:
                break
        else:
            alive.append(name)
        killers = verdicts + [f + " (stuck)" for f in stuck]
        short = [os.path.relpath(f, folder).replace(".litmus", "") for f in killers]
        print("%s %-24s rule %-2s %s\n       %d by verdict, %d by stuck ends, %d more change states: %s" %
              ("killed" if killers else "ALIVE ", name, rule or "-", text, len(verdicts), len(stuck), len(states),
               " ".join(short[:show])))
        sys.stdout.flush()
    print("%d faults, %d killed, %d alive, %d tests" % (count, count - len(alive), len(alive), len(sound[-1])))
    if alive:
        print("alive: " + " ".join(alive))
    return 1 if alive or not count else 0


if __name__ == "__main__":
    sys.exit(main())
