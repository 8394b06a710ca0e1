#!/bin/sh
# bench.sh FOLDER: the benchmarks that the build defines.
set -eu
exec meson test -C "$1" --benchmark --verbose --no-rebuild
