"""A Debian kernel with rdma_rxe, for the virtual machine (vm.py): fetched as a package and unpacked into a cache folder, installed
nowhere. The cache, $XDG_CACHE_HOME/remora/rxe, holds for each kernel: vmlinux, lib/modules, and the initial file system."""
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

# What of the package is kept: the modules that the guest may ask for, and what those stand on.
KEPT = re.compile(r"\./(boot/vmlinuz-.*|lib/modules/[^/]+/(modules\.(builtin|builtin\.modinfo|order)"
                  r"|kernel/(crypto|lib|arch|net|drivers/(infiniband|net|virtio|dma-buf)|fs/(9p|fscache|netfs|configfs))(/.*)?))$")
# What the guest needs before it sees the host's files.
EARLY = ["virtio_pci", "9pnet_virtio", "9p"]


class Unavailable(Exception):
    """Something that the machine lacks, in one line."""


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", "/nonexistent"), ".cache")
    # What was unpacked when less was kept lies elsewhere.
    folder = pathlib.Path(base) / "remora" / "rxe" / hashlib.sha256(KEPT.pattern.encode()).hexdigest()[:8]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"{folder}: {error.strerror}; XDG_CACHE_HOME may name another place") from error
    return folder.resolve()


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def update():
    return subprocess.run(["apt-get", "update", "-qq"], capture_output=True, check=False).returncode == 0


def package_name():
    """The package that linux-image-amd64 stands for, linux-image-VERSION-amd64; the cloud kernel has no rxe."""
    depends = output_of("apt-cache", "depends", "linux-image-amd64")
    found = re.search(r"Depends: (linux-image-\S+)", depends)
    return found and found.group(1)


def download(package, folder):
    result = subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, capture_output=True, check=False)
    found = list(pathlib.Path(folder).glob("*.deb"))
    return found[0] if result.returncode == 0 and found else None


def unpack(package, folder):
    """The kept files of the package; the kernel as the ELF file that is within it, which boots without unpacking itself."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            for member in archive:
                if KEPT.match(member.name) and (member.isfile() or member.isdir()):
                    archive.extract(member, folder)
    image = next((folder / "boot").iterdir())
    data = image.read_bytes()
    start = data.index(b"\xfd7zXZ\x00")
    (folder / "vmlinux").write_bytes(lzma.LZMADecompressor(format=lzma.FORMAT_XZ).decompress(data[start:]))
    shutil.rmtree(folder / "boot")


def module_files(folder, version, names):
    """Files of the modules and of those that they need, the needed first."""
    needs = {}
    for line in (folder / "lib/modules" / version / "modules.dep").read_text().splitlines():
        file, _, needed = line.partition(":")
        needs[file] = needed.split()
    files = []

    def add(file):
        for needed in needs[file]:
            add(needed)
        if file not in files:
            files.append(file)

    for name in names:
        for file in needs:
            if file.rsplit("/", 1)[1].replace("-", "_") == name.replace("-", "_") + ".ko":
                add(file)
    return files


def cpio_entry(name, mode, data=b"", number=[0]):
    number[0] += 1
    fields = [number[0], mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    pad = lambda part: part + b"\0" * (-len(part) % 4)
    return pad(head) + pad(data)


def initial_files(folder, version, init):
    """The initial file system: busybox, the early modules in the order of their loading, and /init."""
    busybox = shutil.which("busybox", path="/bin:/usr/bin:" + os.environ.get("PATH", ""))
    if not busybox:
        raise Unavailable("no busybox: apt-get install busybox-static")
    files = module_files(folder, version, EARLY)
    archive = b"".join(cpio_entry(name, 0o40755) for name in ["bin", "dev", "host", "lib", "proc", "sys", "early"])
    archive += cpio_entry("bin/busybox", 0o100755, pathlib.Path(busybox).read_bytes())
    for number, file in enumerate(files):
        data = (folder / "lib/modules" / version / file).read_bytes()
        archive += cpio_entry(f"early/{number:02}.ko", 0o100644, data)
    archive += cpio_entry("init", 0o100755, pathlib.Path(init).read_bytes())
    return archive + cpio_entry("TRAILER!!!", 0)


def kernel_folder():
    """The folder of the unpacked kernel, and its version; downloads it if it is not there."""
    cache = cache_folder()
    present = sorted(folder for folder in cache.iterdir() if (folder / "vmlinux").exists())
    package = package_name()
    wanted = package and cache / package.removeprefix("linux-image-")
    if present and wanted not in present:
        wanted = present[-1]
    if wanted and wanted in present:
        return wanted, wanted.name
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        os.chmod(scratch, 0o755)
        deb = package and download(package, scratch)
        if not deb:
            update()
            package = package_name()
            deb = package and download(package, scratch)
        if not deb:
            raise Unavailable("the Debian package of the kernel (linux-image-amd64) can't be had: apt-get download fails")
        version = package.removeprefix("linux-image-")
        fresh = pathlib.Path(scratch) / "kernel"
        fresh.mkdir()
        unpack(deb, fresh)
        if subprocess.run(["busybox", "depmod", "-b", fresh, version], check=False).returncode != 0:
            raise Unavailable("depmod of busybox fails on the kernel's modules")
        try:
            fresh.rename(cache / version)
        except OSError:  # another process was faster
            pass
    return cache / version, version
