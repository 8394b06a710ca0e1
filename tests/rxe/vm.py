#!/usr/bin/env python3
"""Boots a virtual machine with a Soft-RoCE device and runs a command in it, with the host's files visible, read-only, under their
own names: what is built and installed here runs there. The command's output is passed on, the exit status is its own; 77 means
that this machine can't do it, for the reason that is printed, and 125 that the guest gave no status.

usage: vm.py --log FOLDER [--seconds LIMIT] [--tap] COMMAND [ARGUMENT...]; REMORA_RXE_SECONDS is the limit if none is given (800)

The folder of the log is writable for the guest. KVM is used where it works, else QEMU's emulation."""
import argparse
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

import kernel

HERE = pathlib.Path(__file__).resolve().parent
PROCESSORS = 2
# How long a boot may take, try by try. A busy host can slow emulation tenfold, and some boots on one never end.
TRIES = [("kvm", 15), ("tcg,thread=multi", 60), ("tcg,thread=multi", 150)]
UNABLE, NO_STATUS = 77, 125
# Without these two the kernel copies whole words. With them its memcpy, by which Soft-RoCE reads and writes memory, is one rep movsb,
# which the emulation executes byte by byte: then others see a word of 8 aligned bytes half old, half new.
CPU = "max,-erms,-fsrm"


def kvm_is_worth_a_try():
    """There are hosts with a /dev/kvm on which no machine comes up: those where the processor has nothing for it."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return re.search(r"\b(vmx|svm)\b", flags) is not None and os.access("/dev/kvm", os.R_OK | os.W_OK)


def qemu_command(accelerator, folder, version, log):
    qemu = shutil.which("qemu-system-x86_64")
    if not qemu:
        raise kernel.Unavailable("no qemu-system-x86_64: apt-get install qemu-system-x86")
    (log / "initial").write_bytes(kernel.initial_files(folder, version, HERE / "init"))
    shares = []
    for tag, path, options in [("root", "/", ",readonly=on"), ("log", log, "")]:
        shares += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{options}"]
    return [
        qemu, "-M", "pc", "-accel", accelerator, "-cpu", CPU, "-smp", str(PROCESSORS), "-m", "1024",
        "-name", "remora-rxe,debug-threads=on", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-serial", f"file:{log}/console", "-chardev", "stdio,id=output,signal=off", "-serial", "chardev:output",
        "-device", "isa-debug-exit,iobase=0xf4,iosize=4", *shares,
        "-kernel", str(folder / "vmlinux"), "-initrd", str(log / "initial"), "-append",
        f"console=ttyS0 earlyprintk=ttyS0 panic=-1 no_timer_check mitigations=off remora.log={log} remora.kernel={folder}"]


def pin_processors(pid):
    """Each processor of the guest to one of the host: two busy pollers that the host puts on one would take turns of 4 ms."""
    hosts = sorted(os.sched_getaffinity(0))
    for _ in range(100):
        pinned = 0
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                name = pathlib.Path(f"/proc/{pid}/task/{task}/comm").read_text()
                found = re.match(r"CPU (\d+)/", name)
                if found:
                    os.sched_setaffinity(int(task), {hosts[int(found.group(1)) % len(hosts)]})
                    pinned += 1
        except OSError:  # it has ended
            return
        if pinned == PROCESSORS:
            return
        time.sleep(0.05)


def ends_within(process, seconds):
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def start(accelerator, seconds, folder, version, log):
    """The machine, once its first process runs; nothing if that does not come about."""
    for name in ["ready", "status", "console"]:
        (log / name).unlink(missing_ok=True)
    with open(log / "qemu", "wb") as complaints:
        process = subprocess.Popen(qemu_command(accelerator, folder, version, log), stdin=subprocess.DEVNULL, stderr=complaints)
    stop = lambda *_: (process.kill(), os._exit(NO_STATUS))
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    pin_processors(process.pid)
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if (log / "ready").exists():
            return process
        if ends_within(process, 0.1) or b"KVM internal error" in (log / "qemu").read_bytes():
            break
    process.kill()
    process.wait()
    (log / "console").replace(log / "console-of-a-failed-boot")
    return None


def boot(arguments):
    log = pathlib.Path(arguments.log).resolve()
    log.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    folder, version = kernel.kernel_folder()
    (log / "command").write_text(shlex.join([arguments.command, *arguments.arguments]) + "\n")
    process = None
    for accelerator, seconds in TRIES if kvm_is_worth_a_try() else TRIES[1:]:
        process = process or start(accelerator, seconds, folder, version, log)
    if process and not ends_within(process, arguments.seconds):
        process.kill()
        process.wait()
    (log / "initial").unlink()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    (log / "cost").write_text(f"{time.monotonic() - begin:.0f} s, of processor time {usage.ru_utime + usage.ru_stime:.0f} s\n")
    try:
        return int((log / "status").read_text())
    except (OSError, ValueError):
        complaint = (log / "qemu").read_text(errors="replace").strip()
        text = f"the guest gave no status within {arguments.seconds:.0f} s; {complaint or f'see {log}/console'}"
        print(f"Bail out! {text}" if arguments.tap else text, flush=True)
        return NO_STATUS


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("REMORA_RXE_SECONDS", "800")))
    parser.add_argument("--tap", action="store_true", help="the command speaks TAP: a machine that can't be had is a test skipped")
    parser.add_argument("command")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    try:
        sys.exit(boot(arguments))
    except kernel.Unavailable as reason:
        print(f"1..0 # SKIP {reason}" if arguments.tap else f"vm.py: {reason}")
        sys.exit(0 if arguments.tap else UNABLE)


main()
