#!/usr/bin/env python3
"""third.py [--largest N] REMORA FILE|FOLDER...: compares the engines with the independent readings of the specification.

Every test: the declarative engine's states must be oracle.py's. Tests without library calls: the operational engine's
states and number of stuck ends must be machine.py's. Tests that are too large for the slow side are counted as skipped.
"""
import json
import os
import subprocess
import sys

import language
import machine
import oracle

LARGEST = 4000  # states of machine.py, and graphs of oracle.py, unless told otherwise by --largest N


def files(args):
    for a in args:
        if os.path.isdir(a):
            for root, _, names in sorted(os.walk(a)):
                yield from (os.path.join(root, n) for n in sorted(names) if n.endswith(".litmus"))
        else:
            yield a


def engine(remora, which, paths):
    """{file: (set of states, stuck, complete)}; a state is a frozenset of (name, value)."""
    run = subprocess.run([remora, "check", "-q", "--json", "--engine", which, *paths], stdout=subprocess.PIPE, check=False)
    out = {}
    for line in run.stdout.decode().splitlines():
        r = json.loads(line)
        if "states" in r:
            out[r["file"]] = ({frozenset(s.items()) for s in r["states"]}, r.get("stuck"), r["complete"])
    return out


def named(test, rows):
    """Rows of oracle.py and machine.py as the engines name them."""
    def name(thing):
        if thing[0] == "reg":
            return "%d:%s" % thing[1:]
        return thing[1] if isinstance(thing[1], str) else "%s@%d" % thing[1]
    names = [name(x) for x in test.shown]
    return {frozenset(zip(names, row)) for row in rows}


def has_libraries(test):
    def used(block):
        for s in block:
            if s[0] in ("bcast", "gfence", "acquire", "release", "sv_wait") or s[0].startswith("sc_"):
                return True
            if any(isinstance(p, tuple) and p and p[0] in ("shared", "sc") for p in s):
                return True
            if s[0] in ("do", "repeat", "if") and any(used(p) for p in s if isinstance(p, list)):
                return True
        return False
    return any(used(b) for _, b in test.threads)


def has_spin(block):
    return any(s[0] == "do" or any(has_spin(p) for p in s if isinstance(p, list) and s[0] in ("repeat", "if")) for s in block)


def main():
    largest, args = LARGEST, sys.argv[1:]
    if "--largest" in args:
        i = args.index("--largest")
        largest = int(args[i + 1])
        del args[i:i + 2]
    remora, paths = args[0], list(files(args[1:]))
    declarative, operational = engine(remora, "declarative", paths), engine(remora, "operational", paths)
    bad = compared = skipped = 0

    def differ(path, what, theirs, ours):
        nonlocal bad
        bad += 1
        print("%s: %s: engine %s, reading of the specification %s" % (path, what, theirs, ours))
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if not text.lstrip().startswith("RDMA_"):
            continue
        try:
            test = language.Reader(text).read()
            rows = named(test, oracle.decide(test, work=largest))
            if declarative[path][2]:
                compared += 1
                if rows != declarative[path][0]:
                    differ(path, "declarative states", [sorted(s) for s in declarative[path][0] - rows],
                           [sorted(s) for s in rows - declarative[path][0]])
            if has_libraries(test) or not operational[path][2]:
                continue
            m = machine.Machine(test, limit=largest).run()
            rows = named(test, m.outcomes)
            compared += 1
            if rows != operational[path][0]:
                differ(path, "operational states", [sorted(s) for s in operational[path][0] - rows],
                       [sorted(s) for s in rows - operational[path][0]])
            if not any(has_spin(b) for _, b in test.threads) and len(m.stuck) != operational[path][1]:
                differ(path, "stuck ends", operational[path][1], len(m.stuck))
        except (oracle.TooBig, machine.TooBig):
            skipped += 1
    print("%d comparisons, %d differences, %d skipped as too large" % (compared, bad, skipped))
    return 1 if bad or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
