#!/usr/bin/env python3
"""docs.py [--update]: are the examples of docs/explanations.md what the program prints now?

A comment `<!-- remora check … -->` stands before each block of output (of which the part behind the hash is shown) and
before each picture. With --update they are written anew. REMORA is the program, SOURCE the project's folder."""
import os
import re
import shlex
import subprocess
import sys

update = "--update" in sys.argv
source = os.environ.get("SOURCE", ".")
program = os.environ.get("REMORA", "build/src/cli/remora")
page = os.path.join(source, "docs/explanations.md")
wrong = []


def run(command):
    words = shlex.split(command)
    assert words[:2] == ["remora", "check"], command
    done = subprocess.run([program, "check", "-q"] + words[2:], cwd=source, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.exit(f"{command}: {done.stderr}")
    return done.stdout.split("Hash=", 1)[1].split("\n", 1)[1].rstrip("\n") + "\n"


def without_comments(text):
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def picture(command):
    words = shlex.split(command)
    file = words[words.index("--svg") + 1]
    old = os.path.join(source, file)
    new = old if update else "/dev/stdout"
    if update:
        run(command)
        return
    words[words.index(file)] = new
    drawn = subprocess.run([program, "check", "-q"] + words[2:], cwd=source, capture_output=True, text=True, check=False)
    svg = drawn.stdout[drawn.stdout.index("<?xml"):drawn.stdout.index("</svg>") + 7]
    with open(old, encoding="utf-8") as f:
        if without_comments(f.read()) != without_comments(svg):
            wrong.append(command)


def block(match):
    command, shown = match.group(1), match.group(2)
    now = run(command)
    if now != shown:
        wrong.append(command)
    return f"<!-- {command} -->\n```\n{now}```\n"


with open(page, encoding="utf-8") as f:
    text = f.read()
new = re.sub(r"<!-- (remora check [^\n]*) -->\n```\n(.*?)```\n", block, text, flags=re.S)
for command in re.findall(r"<!-- (remora check [^\n]*--svg [^\n]*) -->", text):
    picture(command)
if update:
    with open(page, "w", encoding="utf-8") as f:
        f.write(new)
elif wrong:
    sys.exit("not what is printed now (tests/explain/docs.py --update writes it):\n  " + "\n  ".join(wrong))
