#!/bin/sh
# soak-runtime.sh FOLDER: the runtime for hours: the bank (a million transfers on each provider, and BANK seconds, an hour by default, on shm), ten million critical sections under
# each lock, ten million runs of each litmus shape, and whether the shapes notice when a rule of the provider is missing.
set -u
folder=$1
remora=$folder/src/cli/remora
failed=0
run() {
    echo "== $*"
    "$@" || failed=1
}
for lock in nlock wlock slock; do
    run "$remora" launch -n 2 -- "$folder/tests/runtime/locks_test" "$lock" 10000000 1
    run "$remora" launch -n 3 -- "$folder/tests/runtime/locks_test" "$lock" 1000000 3
done
run "$remora" launch -n 2 -- "$folder/tests/runtime/shapes_test" all 10000000
run "$(dirname "$0")/../tests/runtime/teeth.py" "$(dirname "$0")/.." "$remora"
for provider in shm weak ofi; do # verbs: in the virtual machine, tests/rxe
    run "$(dirname "$0")/bank.py" "$remora" "$folder/examples/example_bank" "$provider" 1000000
done
run "$remora" launch -n 3 -- "$folder/examples/example_bank" "${BANK:-3600}" 3
exit $failed
