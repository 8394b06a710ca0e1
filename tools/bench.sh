#!/bin/sh
# bench.sh FOLDER: what the checker costs (see bench/checker.c), and the CPU time of the whole corpus.
set -eu
folder=$1
cd "$(dirname "$0")/.."
ninja -C "$folder" --quiet bench/bench-checker
"$folder/bench/bench-checker"
echo
tests=$(find litmus -name '*.litmus' | wc -l)
printf 'the whole corpus, %s tests, one core (CPU seconds):\n' "$tests"
( export TIMEFORMAT='user %U s, system %S s'; bash -c "time '$folder/src/cli/remora' check -q -j1 litmus >/dev/null" )
