#!/usr/bin/env python3
"""Kills a node with SIGKILL in every blocking situation: every other node must return REM_EDEAD within 2 s, the launcher must
end with 137, and no process may be left.

And at any time: nodes that are busy with locks, from the start on.

usage: death_test.py REMORA MOURNER LOCKS_TEST [SITUATION...]"""
import os
import random
import re
import signal
import subprocess
import sys
import time

LIMIT = 2.0 * float(os.environ.get("REMORA_TEST_PATIENCE", "1"))
NODES = 4


def alive(group):
    """Processes of the group that are not zombies of ours."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            found.append(int(pid))
    return found


def read_until(stream, wanted):
    """Lines up to the one that completes the wanted counts of words."""
    lines = []
    counts = {word: 0 for word in wanted}
    while any(counts[word] < wanted[word] for word in wanted):
        line = stream.readline()
        if not line:
            sys.exit("the job ended early:\n" + "".join(lines))
        lines.append(line)
        for word in wanted:
            counts[word] += f" {word}" in line
    return lines


def run(remora, mourner, situation, victim, settle):
    command = [remora, "launch", "-q", "-p", "-n", str(NODES), "--", mourner, situation, str(victim)]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    lines = read_until(job.stdout, {"ready": NODES, "pid": 1})
    pid = int(re.search(r"pid (\d+)", "".join(lines)).group(1))
    time.sleep(settle)
    killed = time.clock_gettime(time.CLOCK_MONOTONIC)
    os.kill(pid, signal.SIGKILL)
    rest = job.stdout.read()
    status = job.wait(timeout=30)
    told = [int(t) / 1e9 - killed for t in re.findall(r"told (\d+)", rest)]
    left = alive(job.pid)
    print(f"{situation}, node {victim}: told after " + ", ".join(f"{t * 1e3:.1f} ms" for t in told))
    assert len(told) == NODES - 1, f"{len(told)} nodes were told, not {NODES - 1}\n{rest}"
    assert max(told) < LIMIT, f"told after {max(told)} s"
    assert status == 128 + signal.SIGKILL, f"status {status}"
    assert not left, f"left behind: {left}"


def kill_launcher(remora, mourner):
    job = subprocess.Popen([remora, "launch", "-p", "-n", str(NODES), "--", mourner, "barrier", "0"],
                           stdout=subprocess.PIPE, text=True, start_new_session=True)
    read_until(job.stdout, {"ready": NODES})
    job.kill()
    job.wait()
    deadline = time.monotonic() + LIMIT
    while alive(job.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(job.pid), "the nodes outlive a killed launcher"


def kill_any_time(remora, locks_test, seed):
    """A node of the busy job is killed at a random time; the rest must be gone within the limit."""
    chance = random.Random(seed)
    command = [remora, "launch", "-q", "-n", str(NODES), "--", locks_test, chance.choice(["nlock", "wlock", "slock"]),
               "1000000000", "2"]
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(chance.random() * 0.1)
    nodes = []
    while len(nodes) < NODES:
        nodes = [pid for pid in alive(job.pid) if pid != job.pid]
    os.kill(chance.choice(nodes), signal.SIGKILL)
    assert job.wait(timeout=LIMIT) == 128 + signal.SIGKILL
    assert not alive(job.pid)


def main():
    remora, mourner, locks_test = sys.argv[1:4]
    situations = sys.argv[4:] or ["barrier", "nlock", "wlock", "slock", "sc", "posts", "alloc"]
    segments = os.listdir("/dev/shm")
    for situation in situations:
        for victim, settle in ((0, 0.0), (3, 0.1)):
            run(remora, mourner, situation, victim, settle)
    for seed in range(10):
        kill_any_time(remora, locks_test, seed)
    kill_launcher(remora, mourner)
    assert os.listdir("/dev/shm") == segments, "something is left in /dev/shm"


main()
