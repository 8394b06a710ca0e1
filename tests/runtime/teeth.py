#!/usr/bin/env python3
"""Do the litmus shapes bite? Takes one rule of the shm provider out at a time, and runs the shapes until one of those named sees
the outcome that the rule forbids. Needs two processors that are free now and then, so it belongs to the soak.

usage: teeth.py SOURCE REMORA [CC]"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# name: the text of the rule in shm.c, what it becomes, the shapes that must see it
FAULTS = {
    "no drain before a remote read": (
        "    if (*thread->owes)\n        drain(thread);", "    (void)drain;", ["store-get", "put-get", "store-put"]),
    "no drain before a load that follows a result": (
        "private ? 0 : REM_OWES_REMOTE_READ | REM_OWES_LOAD", "private ? 0 : REM_OWES_REMOTE_READ",
        ["get-wait-load", "rfaa-wait-load"]),
    "no drain before a load that follows a put to the own node": (
        "(op->node == thread->self ? REM_OWES_LOAD : 0)", "0", ["put-own-load"]),
}
# The provider that is changed, and what needs libraries or the model.
OTHERS = re.compile(r"(shm|model|pmix|verbs.*|ofi.*)\.c$")
ATTEMPTS, TIMES = 20, 500000


def build(source, folder, compiler, old, new):
    text = (source / "src/fabric/shm.c").read_text()
    assert text.count(old) == 1, f"shm.c does not have it once: {old!r}"
    changed = folder / "shm.c"
    changed.write_text(text.replace(old, new))
    program = folder / "shapes"
    sources = [changed, source / "src/base/context.c", source / "tests/runtime/frame.c",
               source / "tests/runtime/shapes_test.c"]
    for part in ("job", "fabric", "tower"):
        sources += sorted(file for file in (source / "src" / part).glob("*.c") if not OTHERS.match(file.name))
    subprocess.run([compiler, "-O2", "-std=gnu11", "-D_GNU_SOURCE", f"-I{source}/src", f"-I{source}/include",
                    f"-I{source}/tests/runtime", *sources, "-pthread", "-o", program], check=True)
    return program


def seen(remora, program, shape):
    command = [remora, "launch", "-n", "2", "--", program, shape, str(TIMES)]
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"REMORA_TEST_TEETH": "1"})
    return int(re.search(r"forbidden (\d+)", run.stdout).group(1))


def main():
    source, remora = pathlib.Path(sys.argv[1]), sys.argv[2]
    compiler = sys.argv[3] if len(sys.argv) > 3 else "cc"
    missed = 0
    for fault, (old, new, shapes) in FAULTS.items():
        with tempfile.TemporaryDirectory() as folder:
            program = build(source, pathlib.Path(folder), compiler, old, new)
            for shape in shapes:
                counts = (seen(remora, program, shape) for _ in range(ATTEMPTS))
                count = next((c for c in counts if c), 0)
                print(f"{fault}: {shape}: " + (f"{count} of {TIMES}" if count else "NOT SEEN"))
                missed += count == 0
    sys.exit(missed > 0)


main()
