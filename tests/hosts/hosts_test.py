#!/usr/bin/env python3
"""Jobs over several hosts, on the ofi provider over TCP, started by mpirun and by `remora launch --hosts`, which also does without mpirun.

usage: hosts_test.py REMORA PROGRAMS SCENARIO...; PROGRAMS: folders of the test programs and of the examples, and a
litmus test, with colons between them

Exit status 77 where there can be no such hosts."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import net

NODES = 4
PATIENCE = 3.0  # of the job, where a node falls silent
# Where frames are lost: TCP asks for a connection again after 1, 2, 4, 8 seconds, so less would call a living node silent.
PATIENCE_WITH_LOSS = 30.0
SLACK = float(os.environ.get("REMORA_TEST_PATIENCE", "1"))
LONG = 100 * SLACK


class Bench:
    def __init__(self, remora, programs, folder, hosts):
        self.remora, self.folder, self.net = remora, folder, hosts
        self.tests, self.examples, self.litmus = programs.split(":")
        self.environment = dict(os.environ, OMPI_MCA_orte_tmpdir_base=folder, OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", REMORA_TIMEOUT=str(PATIENCE * SLACK),
                                FI_PROVIDER="tcp,ofi_rxm")  # libfabric looks for no others
        self.environment.pop("REMORA_PROVIDER", None)

    def mpirun(self, *options):
        return self.net.on(0, "mpirun", "--host", ",".join(self.net.addresses), "--mca", "plm_rsh_agent", self.net.agent,
                           "--bind-to", "none", *options)

    def launch(self, *options):
        return self.net.on(0, self.remora, "launch", "--hosts", ",".join(self.net.addresses), "--rsh", self.net.agent,
                           *options)

    def by_ssh(self, *options, hosts=None):
        return self.net.on(0, self.remora, "launch", "--launcher", "ssh", "--hosts", hosts or ",".join(self.net.addresses), "--rsh",
                           self.net.agent, *options)

    def start(self, command):
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment,
                                stdin=subprocess.DEVNULL, start_new_session=True)

    def run(self, command, limit=LONG):
        """Its output; it must end by itself, with 0."""
        job = self.start(command)
        try:
            output, _ = job.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.stop(job)
            sys.exit(f"no end within {limit} s: {' '.join(command)}\n{job.stdout.read()}")
        if job.returncode != 0:
            sys.exit(f"status {job.returncode}: {' '.join(command)}\n{output}")
        return output

    def stop(self, job):
        """The daemons on other hosts are in sessions of their own."""
        try:
            os.killpg(job.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.net.kill_all()
        job.wait()

    def logging(self, name, *command):
        """A script that runs the command as a node, with its output and exit status in a file of its own."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write(f'#!/bin/sh\nexec >{self.folder}/{name}.${{PMIX_RANK:-${{REMORA_HUB%%:*}}}} 2>&1\n{" ".join(command)}\necho "status $?"\n')
        os.chmod(path, 0o755)
        return path

    def log(self, name, node):
        try:
            with open(os.path.join(self.folder, f"{name}.{node}")) as log:
                return log.read()
        except FileNotFoundError:
            return ""


def check_bank(output):
    audits = re.findall(r"(\d+) transfers, (\d+) audits, (\d+) of them wrong", output)
    assert len(audits) == NODES, output
    assert all(wrong == "0" for _, _, wrong in audits), output
    print("  " + ", ".join(f"{transfers} transfers and {count} audits" for transfers, count, _ in audits))


# ---- All goes well ----

def bank(bench):
    check_bank(bench.run(bench.mpirun("-n", str(NODES), f"{bench.examples}/example_bank", "1")))


def locks(bench):
    for kind in ("nlock", "wlock", "slock"):
        bench.run(bench.launch("--", f"{bench.tests}/locks_test", kind, "150", "1"))


def launched(bench):
    """Through remora launch --hosts: an example, and what it says of the nodes' places."""
    output = bench.run(bench.launch("-p", "--", f"{bench.examples}/example_message_passing"))
    assert "messages" in output, output
    short = subprocess.run(bench.launch("-n", str(NODES + 1), "--", "true"), env=bench.environment, capture_output=True,
                           text=True)
    assert short.returncode == 2 and "places" in short.stderr, short
    code = subprocess.run(bench.launch("--", "sh", "-c", "exit 3"), env=bench.environment, capture_output=True, text=True)
    assert code.returncode == 3, code


def one_host(bench):
    """Under mpirun on one host the nodes share memory, and the kernel tells them of deaths."""
    segments = set(os.listdir("/dev/shm"))
    mpirun = ["mpirun", "--mca", "plm_rsh_agent", "sh", "--oversubscribe", "--bind-to", "none", "-n", str(NODES)]
    check_bank(bench.run([*mpirun, f"{bench.examples}/example_bank", "0.5"]))
    for kind in ("nlock", "wlock", "slock"):
        bench.run([*mpirun, f"{bench.tests}/locks_test", kind, "2000", "1"])
    for situation in ("barrier", "wlock"):
        mourn(bench, ["mpirun", "--mca", "plm_rsh_agent", "sh", "--oversubscribe", "--bind-to", "none", "--enable-recovery"], situation, 1)
    left = {name for name in os.listdir("/dev/shm") if "remora" in name} - segments
    assert not left, left


def late(bench):
    """Nodes don't wait for ever for one that does not come to rem_open."""
    script = os.path.join(bench.folder, "late")
    with open(script, "w") as out:
        out.write(f'#!/bin/sh\n[ $PMIX_RANK = 1 ] && exec sleep 30\nexec {bench.remora} run -n 1 {bench.litmus}\n')
    os.chmod(script, 0o755)
    job = subprocess.run(["mpirun", "--mca", "plm_rsh_agent", "sh", "--oversubscribe", "-n", "2", script], capture_output=True,
                         text=True, env=dict(bench.environment, REMORA_OPENING="1"), timeout=25)
    assert "not all nodes have come to rem_open within 1 s" in job.stdout + job.stderr, job


# ---- By ssh alone ----

def by_ssh(bench):
    """The wire, output, input, and the exit status go through ssh; nothing listens, and no variable is in a command line."""
    check_bank(bench.run(bench.by_ssh("--", f"{bench.examples}/example_bank", "1")))
    check_bank(bench.run(bench.by_ssh("--", f"{bench.examples}/example_bank", "1", hosts=f"{bench.net.addresses[1]}:{NODES}")))
    look = 'cat; grep " 0A " /proc/net/tcp /proc/net/tcp6; echo "$REMORA_MARK" | grep -slf - /proc/[0-9]*/cmdline; echo at >&2; exit 3'
    environment = dict(bench.environment, REMORA_MARK="e" + "5" * 20)
    for hosts in (None, f"{bench.net.addresses[1]}:{NODES}"):
        job = subprocess.run(bench.by_ssh("-p", "-q", "--", "sh", "-c", look, hosts=hosts), input="one\ntwo\n" * 50000, text=True,
                             env=environment, capture_output=True, timeout=LONG)
        assert job.returncode == 3 and job.stdout == "[0] one\n[0] two\n" * 50000, (job.returncode, job.stdout[-500:])
        assert sorted(job.stderr.split("\n")) == [""] + [f"[{n}] at" for n in range(NODES)], job.stderr
    nowhere = subprocess.run(bench.by_ssh("--", "true", hosts="10.111.0.99"), env=environment, capture_output=True, text=True)
    assert nowhere.returncode == 2 and "cannot start on host `10.111.0.99'" in nowhere.stderr, nowhere


def ssh_death(bench):
    mourn(bench, bench.by_ssh(), "barrier", 1)
    mourn(bench, bench.by_ssh(hosts=f"{bench.net.addresses[1]}:{NODES}"), "nlock", 1)
    job = bench.start(bench.by_ssh("--", f"{bench.tests}/mourner", "barrier", "1"))
    try:
        time.sleep(2)
        bench.net.kill_all(only=2)
        output, _ = job.communicate(timeout=LONG)
        assert "lost the connection to host `10.111.0.3'" in output and job.returncode == 255, (job.returncode, output)
    finally:
        bench.stop(job)


# ---- A node dies ----

def until(condition, limit, what):
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"not within {limit:.0f} s: {what}")
        time.sleep(0.02)


def mourn(bench, mpirun, situation, victim):
    """The victim is killed; every other node must be told, and say the right thing."""
    name = f"mourner.{situation}"
    for node in range(NODES):
        if os.path.exists(f"{bench.folder}/{name}.{node}"):
            os.remove(f"{bench.folder}/{name}.{node}")
    script = bench.logging(name, f"{bench.tests}/mourner", situation, str(victim))
    job = bench.start([*mpirun, "-n", str(NODES), script])
    try:
        until(lambda: all("ready" in bench.log(name, n) for n in range(NODES)), LONG, f"{situation}: all are ready")
        pid = int(re.search(r"pid (\d+)", bench.log(name, victim)).group(1))
        time.sleep(0.1)
        killed = time.clock_gettime(time.CLOCK_MONOTONIC)
        os.kill(pid, signal.SIGKILL)
        others = [n for n in range(NODES) if n != victim]
        until(lambda: all("status" in bench.log(name, n) for n in others), (PATIENCE + 5) * SLACK,
              f"{situation}: the others end")
        logs = [bench.log(name, n) for n in others]
        told = [int(re.search(r"told (\d+)", log).group(1)) / 1e9 - killed for log in logs]
        assert all("status 0" in log for log in logs), "\n".join(logs)
        print(f"  {situation}: told after " + ", ".join(f"{t * 1e3:.0f} ms" for t in told))
    finally:
        bench.stop(job)


def death(bench):
    for situation in ("barrier", "nlock", "wlock", "sc"):
        mourn(bench, bench.mpirun("--enable-recovery"), situation, 1)


# ---- The network fails ----

def cut(bench):
    """A host falls silent: every node must end with an error within the job's patience and a bit."""
    script = bench.logging("cut", f"{bench.tests}/mourner", "sc", "0")
    job = bench.start(bench.mpirun("--enable-recovery", "-n", str(NODES), script))
    try:
        until(lambda: all("ready" in bench.log("cut", n) for n in range(NODES)), LONG, "all are ready")
        time.sleep(0.5)
        began = time.clock_gettime(time.CLOCK_MONOTONIC)
        bench.net.cut(2)
        until(lambda: all("status" in bench.log("cut", n) for n in range(NODES)), (PATIENCE * 2 + 10) * SLACK,
              "all nodes end after a cut\n" + "\n".join(bench.log("cut", n) for n in range(NODES)))
        logs = [bench.log("cut", n) for n in range(NODES)]
        told = [int(re.search(r"told (\d+)", log).group(1)) / 1e9 - began for log in logs]
        print("  told after " + ", ".join(f"{t:.1f} s" for t in told))
        # REM_EUNREACHABLE; or REM_EDEAD, since who ends takes its connections down with it.
        assert all("status 0" in log for log in logs), "\n".join(logs)
    finally:
        bench.stop(job)
        bench.net.join(2)


def weather(bench):
    """Frames are late, out of order, and some are lost: slow, and right."""
    bench.environment["REMORA_TIMEOUT"] = str(PATIENCE_WITH_LOSS * SLACK)
    bench.net.forward_with(delay=0.001, jitter=0.0005, loss=0.02)
    try:
        check_bank(bench.run(bench.mpirun("-n", str(NODES), f"{bench.examples}/example_bank", "3", "1")))
        bench.run(bench.mpirun("-n", str(NODES), f"{bench.tests}/locks_test", "wlock", "20", "1"))
    finally:
        bench.net.forward_plainly()


SCENARIOS = {s.__name__: s for s in (one_host, late, bank, locks, launched, by_ssh, ssh_death, death, cut, weather)}


def main():
    remora, programs = sys.argv[1:3]
    chosen = sys.argv[3:] or list(SCENARIOS)
    lonely = set(chosen) <= {"one_host", "late"}
    alone = set(chosen) <= {"by_ssh", "ssh_death"}
    reason = "no mpirun" if not (alone or shutil.which("mpirun")) else None if lonely else net.why_not()
    if reason:
        print("skipped:", reason)
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="remora-hosts-")
    try:
        with net.Nowhere() if lonely else net.Net(NODES, folder) as hosts:
            for name in chosen:
                began = time.monotonic()
                print(name, flush=True)
                SCENARIOS[name](Bench(remora, programs, folder, hosts))
                print(f"  {time.monotonic() - began:.1f} s", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
