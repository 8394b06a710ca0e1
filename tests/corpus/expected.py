#!/usr/bin/env python3
"""expected.py REMORA FOLDER [--promote]: compares what both engines say of every test with FOLDER/EXPECTED, or writes that anew.

A line of EXPECTED: the test; Ok or No, by the declarative engine; its number of states; that of the operational engine (`=` if the
same states); stuck ends; and a digest of both sets of states, so that no change goes unnoticed.
"""
import hashlib
import json
import os
import subprocess
import sys

HEAD = "# test, verdict, states by the specification, states of the implementation, stuck ends, digest. Written by: make promote\n"


def answers(remora, engine, folder):
    run = subprocess.run([remora, "check", "-q", "--json", "--engine", engine, folder], stdout=subprocess.PIPE, check=False)
    out = {}
    for line in run.stdout.decode().splitlines():
        r = json.loads(line)
        if not r.get("complete"):
            sys.exit("not finished by the %s engine: %s" % (engine, line[:200]))
        states = sorted(json.dumps(s, sort_keys=True) for s in r["states"])
        out[os.path.relpath(r["file"], folder)] = (r["holds"], states, r["stuck"])
    return out


def lines(remora, folder):
    specified, implemented = answers(remora, "declarative", folder), answers(remora, "operational", folder)
    if not specified or specified.keys() != implemented.keys():
        sys.exit("the engines have not both read all tests")
    for name in sorted(specified):
        (holds, states, _), (_, reached, stuck) = specified[name], implemented[name]
        digest = hashlib.sha256("\n".join(states + ["|"] + reached).encode()).hexdigest()[:8]
        yield "%-56s %s %3d %3s %2d %s\n" % (name.replace(".litmus", ""), "Ok" if holds else "No", len(states),
                                             "=" if reached == states else len(reached), stuck, digest)


def main():
    remora, folder = sys.argv[1:3]
    path = os.path.join(folder, "EXPECTED")
    new = [HEAD] + list(lines(remora, folder))
    if "--promote" in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(new)
        print("%s: %d tests" % (path, len(new) - 1))
        return 0
    with open(path, encoding="utf-8") as f:
        old = f.readlines()
    for line in sorted(set(old) - set(new)):
        print("- " + line.rstrip())
    for line in sorted(set(new) - set(old)):
        print("+ " + line.rstrip())
    failing = [line.split()[0] for line in new[1:] if line.split()[1] != "Ok"]
    if failing:
        print("does not hold: " + " ".join(failing))
    if old != new:
        print("if this is meant: make promote")
    print("%d tests compared" % (len(new) - 1))
    return 1 if old != new or failing else 0


if __name__ == "__main__":
    sys.exit(main())
