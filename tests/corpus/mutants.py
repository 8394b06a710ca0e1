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
FOLDERS = ("idioms", "paper", "rules", "stuck", "x86")
LIMIT = ("--max-states", "1000000")


def entries(path):
    """(name, rule, text) of each MUTANT_ENTRY."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for m in re.finditer(r'^MUTANT_ENTRY\(\s*(\w+),\s*(\d+),.*?"([^"]*)"\)', text, re.M | re.S):
        yield m.group(1), int(m.group(2)), m.group(3)


def answers(remora, folder, mutant):
    env = dict(os.environ)
    env.pop("REMORA_MUTANT", None)
    if mutant:
        env["REMORA_MUTANT"] = mutant
    # Every interleaving: the reduction's argument holds for the sound rules only.
    run = subprocess.run([remora, "check", "-q", "--json", "--engine", "operational", "--no-reduction", *LIMIT,
                          *(os.path.join(folder, f) for f in FOLDERS)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, check=False)
    out = {}
    for line in run.stdout.decode().splitlines():
        r = json.loads(line)
        if "states" in r:
            states = tuple(sorted(tuple(sorted(s.items())) for s in r["states"]))
            out[r["file"]] = (r["holds"], r["complete"], r["stuck"], states)
    return out


def main():
    remora, table, folder = sys.argv[1:4]
    show = None if "--all" in sys.argv else 3
    sound = answers(remora, folder, None)
    sound = {f: answer for f, answer in sound.items() if answer[1]}
    if not sound:
        print("nothing to look at")
        return 1
    alive, count = [], 0
    for name, rule, text in entries(table):
        count += 1
        broken = answers(remora, folder, name)
        verdicts = [f for f in sound if f in broken and broken[f][:2] == (not sound[f][0], True)]
        same = [f for f in sound if f in broken and f not in verdicts and broken[f][1]]
        stuck = [f for f in same if broken[f][2] != sound[f][2]]
        states = [f for f in same if f not in stuck and broken[f][3] != sound[f][3]]
        killers = sorted(verdicts, key=lambda f: "rules" not in f) + [f + " (stuck)" for f in stuck]
        short = [os.path.relpath(f, folder).replace(".litmus", "") for f in killers]
        fate = "killed" if killers else "ALIVE "
        if not killers:
            alive.append(name)
        print("%s %-24s rule %-2s %s\n       %d by verdict, %d by stuck ends, %d more change states: %s" %
              (fate, name, rule or "-", text, len(verdicts), len(stuck), len(states), " ".join(short[:show])))
        sys.stdout.flush()
    print("%d faults, %d killed, %d alive, %d tests" % (count, count - len(alive), len(alive), len(sound)))
    if alive:
        print("alive: " + " ".join(alive))
    return 1 if alive or not count else 0


if __name__ == "__main__":
    sys.exit(main())
