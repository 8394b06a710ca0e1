#!/usr/bin/env python3
"""words.py REMORA FOLDER: is every name that explanations and runs print explained in their Words? For each test below the folder: the kinds of
events in brackets, the short names of reasons in parentheses, and what states are made of."""
import re
import subprocess
import sys

remora, folder = sys.argv[1:]
REASONS = r"\((iso|rf|rb|mo|nfo|rao|ar|pf|lock order)\)|\((?:same-node )?(stamp order|observation order|issue order) "
TERMS = r"\b(RDMA-WAIT|RDMA-TSO|library specifications|NIC)\b"
wrong, names, runs, begun = 0, 0, 0, 0


def outputs(*options):
    done = subprocess.run([remora, "check", "-q", *options, folder], capture_output=True, text=True, check=False)
    return done.stdout.split("\nTest ")


def explained(words):
    """"rb (reads before): …" explains rb, "PUT(x,y): …" PUT, "aNRW_n: …" aNRW_n."""
    return set(re.findall(r"^  ([\w -]+?)(?: \([^)]*\)|\([^)]*\))?:(?= )", words, re.M)) | set(re.findall(r"^  ([\w -]+?) n:", words, re.M))


def compare(text, used, words):
    global wrong, names
    names += len(used)
    missing = used - explained(words)
    if missing:
        wrong += 1
        print(f"{text.split()[0]}: not explained: {', '.join(sorted(missing))}")


for text in outputs("--why"):
    told, _, words = text.partition("\nWords:\n")
    told = told.partition("\nHash=")[2]
    if not words:
        if re.search(r"\[[a-zA-Z]+(_\d+)?\]$", told, re.M):
            sys.exit(f"no words: {text}")
        continue
    kinds = {name + ("_n" if node else "") for name, node in re.findall(r"  \[([a-zA-Z]+)(_\d+)?\]$", told, re.M)}
    told = re.sub(r"\s+", " ", told)
    compare(text, kinds | {a or b for a, b in re.findall(REASONS, told)} | set(re.findall(TERMS, told)), words)
for text in outputs("--trace", "--verbose"):
    begun += text.count("\nHow to read it: ")
    for title, words, states in re.findall(r"^(A run.*)\nHow to read it: .*(?:\n(?!Words).*)*\nWords:\n((?:  .*\n)*)((?: .*\n)*)", text, re.M):
        used = set(re.findall(r" (store buffer|pipe|wbR|wbL|remote atomics busy|next) ", states))
        used |= set(re.findall(r" ([A-Z]+)(?:\(|$| [·  ])", "\n".join(re.findall(r"\| .*", states)), re.M))
        used |= {"rule"} if "(rule " in states else set()
        compare(title, used, words)
        runs += 1
print(f"{names} names, {wrong} explanations or runs that lack some")
sys.exit(wrong > 0 or names < 2000 or runs != begun or runs < 100)
