"""Hosts on one machine: network namespaces with a name and an address of their own, joined by veth pairs.

The far ends of the pairs are on a bridge of the kernel, or on a switch of this file's, a process that forwards frames after a
delay and loses some (the kernel's own means for that, netem, is often not built in)."""
import ctypes
import fcntl
import heapq
import os
import random
import select
import shutil
import socket
import struct
import subprocess
import time

SIOCETHTOOL = 0x8946
CHECKSUM, SEGMENTS, GENERIC_SEGMENTS, GENERIC_RECEIVE = 0x17, 0x1F, 0x24, 0x2C  # ETHTOOL_S…: off, so that frames are whole
ALL_PROTOCOLS = 0x0003


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def why_not():
    """Why hosts can't be made here, or None."""
    if os.geteuid() != 0:
        return "not root"
    if not shutil.which("ip"):
        return "no ip (iproute2)"
    name = f"rem{os.getpid()}"
    try:
        ip("netns", "add", name)
        ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "del", name)
    except subprocess.CalledProcessError as error:
        return "no network namespaces: " + error.stderr.decode().strip()
    finally:
        ip("netns", "del", name, check=False)
    return None


def set_feature(device, command):
    """Switches an offload off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        value = ctypes.create_string_buffer(struct.pack("II", command, 0))
        request = struct.pack("16sP", device.encode(), ctypes.addressof(value))
        fcntl.ioctl(handle, SIOCETHTOOL, request)


class Net:
    def __init__(self, count, folder):
        self.tag = f"r{os.getpid() % 100000}"
        self.count = count
        self.folder = folder
        self.bridge = f"{self.tag}b"
        self.switch = None
        self.addresses = [f"10.111.0.{i + 1}" for i in range(count)]
        self.agent = os.path.join(folder, "agent")
        with open(self.agent, "w") as out:
            out.write("#!/bin/sh\n# HOST COMMAND...: what ssh does, into the namespace\nhost=${1##*.}\nshift\n"
                      f"exec ip netns exec {self.tag}h$host unshare --uts sh -c \"hostname host$host; $*\"\n")
        os.chmod(self.agent, 0o755)

    def port(self, i):
        return f"{self.tag}v{i + 1}"

    def space(self, i):
        return f"{self.tag}h{i + 1}"

    def __enter__(self):
        ip("link", "add", "name", self.bridge, "type", "bridge")
        ip("link", "set", self.bridge, "up")
        for i, address in enumerate(self.addresses):
            ip("netns", "add", self.space(i))
            ip("link", "add", self.port(i), "type", "veth", "peer", "name", "eth0", "netns", self.space(i))
            ip("link", "set", self.port(i), "master", self.bridge, "up")
            ip("-n", self.space(i), "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", self.space(i), "link", "set", "eth0", "up")
            ip("-n", self.space(i), "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        self.forward_plainly()
        self.kill_all()
        for i in range(self.count):
            ip("netns", "del", self.space(i), check=False)
            ip("link", "del", self.port(i), check=False)
        ip("link", "del", self.bridge, check=False)

    def kill_all(self, only=None):
        """Every process on the hosts, or on one of them."""
        for i in range(self.count) if only is None else [only]:
            pids = subprocess.run(["ip", "netns", "pids", self.space(i)], capture_output=True, text=True).stdout
            for pid in pids.split():
                try:
                    os.kill(int(pid), 9)
                except ProcessLookupError:
                    pass

    def on(self, i, *command):
        """The words of a command that runs on host i."""
        return ["ip", "netns", "exec", self.space(i), "unshare", "--uts", "sh", "-c", f'hostname host{i + 1}; exec "$@"', "sh",
                *command]

    def cut(self, i):
        ip("link", "set", self.port(i), "down")

    def join(self, i):
        ip("link", "set", self.port(i), "up")

    def forward_with(self, delay, jitter, loss, seed=1):
        """From now on frames take delay ± jitter seconds, keep no order beyond that, and a share of them is lost."""
        for i in range(self.count):
            ip("link", "set", self.port(i), "nomaster")
            for command in (CHECKSUM, SEGMENTS, GENERIC_SEGMENTS, GENERIC_RECEIVE):
                set_feature(self.port(i), command)
            subprocess.run(["ip", "netns", "exec", self.space(i), "python3", __file__, "eth0"], check=True)
        self.switch = os.fork()
        if self.switch == 0:
            try:
                forward([self.port(i) for i in range(self.count)], delay, jitter, loss, random.Random(seed))
            finally:
                os._exit(1)

    def forward_plainly(self):
        if not self.switch:
            return
        os.kill(self.switch, 9)
        os.waitpid(self.switch, 0)
        self.switch = None
        for i in range(self.count):
            ip("link", "set", self.port(i), "master", self.bridge, check=False)


class Nowhere:
    """For jobs on this host alone."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def kill_all(self):
        pass


def forward(ports, delay, jitter, loss, chance):
    sockets = []
    for port in ports:
        handle = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
        handle.bind((port, 0))
        handle.setblocking(False)
        sockets.append(handle)
    homes, queue, number = {}, [], 0
    while True:
        now = time.monotonic()
        while queue and queue[0][0] <= now:
            _, _, source, frame = heapq.heappop(queue)
            home = homes.get(frame[:6])
            for handle in [home] if home else sockets:
                if handle is not source:
                    try:
                        handle.send(frame)
                    except OSError:
                        pass  # a full queue, or a link that is down: lost
        ready, _, _ = select.select(sockets, [], [], max(0, queue[0][0] - now) if queue else None)
        for handle in ready:
            try:
                frame, address = handle.recvfrom(65536)
            except OSError:
                continue
            if address[2] == socket.PACKET_OUTGOING:
                continue
            homes[frame[6:12]] = handle
            if chance.random() >= loss:
                number += 1
                heapq.heappush(queue, (time.monotonic() + delay + chance.uniform(-jitter, jitter), number, handle, frame))


if __name__ == "__main__":
    import sys
    for feature in (CHECKSUM, SEGMENTS, GENERIC_SEGMENTS, GENERIC_RECEIVE):
        set_feature(sys.argv[1], feature)
