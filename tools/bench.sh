#!/bin/sh
# bench.sh FOLDER: what the checker costs (bench/checker.c).
set -eu
cd "$(dirname "$0")/.."
ninja -C "$1" --quiet bench/bench-checker
exec "$1/bench/bench-checker" litmus
