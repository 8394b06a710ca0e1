#!/bin/sh
# check-verbs.sh FOLDER: the verbs provider on Soft-RoCE, in a virtual machine that boots once: its tests, the examples, the litmus
# corpus, deaths, two devices with a wire between them, lost packets, and latencies beside perftest's. SECTIONS chooses among them,
# ITERATIONS is how often each litmus test is run.
set -u
folder=$1
cd "$(dirname "$0")/.."
log=$folder/tests/rxe/log
tools/build.sh "$folder" || exit 1
REMORA_RXE_SECONDS=${REMORA_RXE_SECONDS:-10000} meson test -C "$folder" --no-rebuild --suite rxe --logbase check-verbs --timeout-multiplier 12 \
    --print-errorlogs --test-args="full ${ITERATIONS:-2000} ${SECTIONS:-}"
status=$?
[ ! -f "$log/latencies" ] || cat "$log/latencies"
tools/count-tests.py "$folder/meson-logs/check-verbs.junit.xml" || status=1
exit $status
