#!/usr/bin/env python3
"""mutants-verify.py FOLDER [NAME...]: puts one fault at a time (tests/verify/mutants.txt) into the library's sources, builds
`remora verify` with it, and shows which client notices. FOLDER is a build folder. Exit status 1 if a mutant survives.
mutants-verify.py --stand: only looks whether each mutant's line stands in its source, once."""
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read_mutants(path):
    """Blocks of `name:`, `file:`, `old:`, `new:`, `by:` lines, separated by empty lines; # starts a comment."""
    mutants, block = [], {}
    for line in open(path, encoding="utf-8").read().split("\n") + [""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if block:
                mutants.append(block)
            block = {}
            continue
        key, value = line.split(":", 1)
        block[key.strip()] = (value[1:] if value.startswith(" ") else value).replace("\\n", "\n")
    return mutants


def commands(build):
    """The compile commands of the library's sources for the model, by source, and the link command of the program."""
    compile_, link = {}, None
    lines = subprocess.run(["ninja", "-C", build, "-t", "commands", "src/cli/remora"], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    for line in lines:
        words = shlex.split(line)
        if "-c" in words and ("libtower-model.a.p" in line or "libshm-model.a.p" in line or "libshm-client.a.p" in line):
            source = os.path.relpath(os.path.normpath(os.path.join(build, words[words.index("-c") + 1])), ROOT)
            compile_.setdefault(source, []).append(words)
        elif " -o src/cli/remora " in line:
            link = words
    return compile_, link


def replaced(words, changes):
    words = list(words)
    for flag, value in changes.items():
        words[words.index(flag) + 1] = value
    return words


def build_mutant(build, folder, mutant, compile_, link):
    source = os.path.join(ROOT, mutant["file"])
    text = open(source, encoding="utf-8").read()
    if text.count(mutant["old"]) != 1:
        return f"its line stands {text.count(mutant['old'])} times in {mutant['file']}"
    shutil.rmtree(folder, ignore_errors=True)
    copy = os.path.join(folder, os.path.relpath(mutant["file"], mutant["file"].split("/")[0]))
    os.makedirs(os.path.dirname(copy))
    with open(copy, "w", encoding="utf-8") as out:
        out.write(text.replace(mutant["old"], mutant["new"]))
    sources = [mutant["file"]] if mutant["file"].endswith(".c") else \
        [s for s in compile_ if mutant["file"].startswith("include/") or s.startswith(os.path.dirname(mutant["file"]))]
    objects = []
    for name in sources:
        for number, words in enumerate(compile_[name]):
            target = os.path.join(folder, f"{number}-{os.path.basename(name)}.o")
            path = copy if name == mutant["file"] else os.path.join(ROOT, name)
            words = [w for w in replaced(words, {"-c": path, "-o": target, "-MF": target + ".d", "-MQ": target})]
            words[1:1] = ["-I" + folder, "-I" + os.path.join(ROOT, "src"), "-Wno-error", "-w"]
            done = subprocess.run(words, cwd=build, capture_output=True, text=True, check=False)
            if done.returncode:
                return done.stderr
            objects.append(target)
    words = replaced(link, {"-o": os.path.join(folder, "remora-mutant")})
    words[1:1] = objects
    done = subprocess.run(words, cwd=build, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None


def run_mutant(folder, libraries, bound):
    """The library and the litmus text of the smallest client that notices, or None."""
    for library in libraries:
        done = subprocess.run([os.path.join(folder, "remora-mutant"), "verify", library, "--bound", bound, "--json", "-q", "--save",
                               folder], capture_output=True, text=True, check=False)
        if done.returncode < 0 or not done.stdout.strip():
            print(done.stderr, file=sys.stderr)
            return library, f"(it crashed: {done.returncode})"
        row = json.loads(done.stdout.strip().split("\n")[0])
        if row["verdict"] == "violated":
            return library, open(os.path.join(folder, f"violation-{library}.litmus"), encoding="utf-8").read()
    return None


def one_line(litmus):
    """The threads of a litmus test on one line."""
    words, inside = [], False
    for line in litmus.split("\n"):
        if line.startswith("P"):
            inside = True
            words.append(("| " if words else "") + line.split("{")[0].strip() + ":")
        elif line.startswith("}"):
            inside = False
        elif inside:
            words.append(line.strip())
    return " ".join(words)


def check_lines(mutants):
    missing = 0
    for mutant in mutants:
        n = open(os.path.join(ROOT, mutant["file"]), encoding="utf-8").read().count(mutant["old"])
        if n != 1:
            print(f"{mutant['name']}: its line stands {n} times in {mutant['file']}")
            missing += 1
    return 1 if missing else 0


def main():
    if sys.argv[1:] == ["--stand"]:
        return check_lines(read_mutants(os.path.join(ROOT, "tests/verify/mutants.txt")))
    build = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:]
    subprocess.run(["ninja", "-C", build, "--quiet", "src/cli/remora"], check=True)
    compile_, link = commands(build)
    alive = killed = 0
    for mutant in read_mutants(os.path.join(ROOT, "tests/verify/mutants.txt")):
        if wanted and mutant["name"] not in wanted:
            continue
        folder = os.path.join(build, "mutants", mutant["name"])
        start = time.time()
        error = build_mutant(build, folder, mutant, compile_, link)
        if error:
            print(f"BROKEN  {mutant['name']}: {error}", flush=True)
            alive += 1
            continue
        by = None
        for bound in ("small", "default"):
            by = by or run_mutant(folder, mutant["by"].split(), bound)
        seconds = time.time() - start
        if by:
            threads = one_line(by[1])
            print(f"killed  {mutant['name']} ({mutant['file']}), by {by[0]} in {seconds:.0f} s: {threads or by[1]}", flush=True)
            killed += 1
        else:
            print(f"ALIVE   {mutant['name']} ({mutant['file']}), {seconds:.0f} s", flush=True)
            alive += 1
        if os.path.exists(os.path.join(folder, "remora-mutant")):
            os.remove(os.path.join(folder, "remora-mutant"))
    print(f"{killed} mutants killed, {alive} alive")
    return 0 if killed and not alive else 1


sys.exit(main())
