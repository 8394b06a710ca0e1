#!/bin/sh
# Installs the Debian packages that building and testing need; does nothing when all are there.
set -eu
packages="gcc clang libclang-rt-14-dev make meson ninja-build flex bison pkg-config libc6-dev libxxhash-dev libjansson-dev libdw-dev libcmocka-dev graphviz bats jq mandoc bsdextrautils libpmix-dev openmpi-bin iproute2 qemu-system-x86 busybox-static perftest ibverbs-providers libibverbs-dev libfabric-dev libck-dev libhts-dev python3"
missing=
for package in $packages; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
echo "installing:$missing" >&2
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
