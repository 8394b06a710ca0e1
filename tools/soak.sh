#!/bin/sh
# soak.sh FOLDER: what `make check` does in small, at length: 20,000 random programs under each model and as many with library
# calls, random bytes for the parser, the corpus under the thread sanitizer, and the mutants. SEED chooses other programs, COUNT
# and FUZZ_SECONDS how much.
set -u
cd "$(dirname "$0")/.."
folder=$1
seed=${SEED:-1}
count=${COUNT:-20000}
failed=0
soak() {
    echo "== $*"
    "$@" || failed=1
}
soak "$folder/src/cli/remora" fuzz --seed "$seed" --count "$count" --arch RDMA_TSO
soak "$folder/src/cli/remora" fuzz --seed "$seed" --count "$count" --arch RDMA_WAIT
soak "$folder/src/cli/remora" fuzz --seed "$seed" --count "$count" --arch RDMA_WAIT --libraries
soak tools/fuzz-parser.sh "$folder-fuzz" "${FUZZ_SECONDS:-600}"
soak tools/build.sh "$folder-threads" -Db_sanitize=thread -Dbuildtype=debugoptimized -Dwerror=false
soak "$folder-threads/src/cli/remora" check -q -j 4 --json --engine both litmus >"$folder-threads/check.log"
soak tools/mutants.sh "$folder-mutants"
soak tools/soak-runtime.sh "$folder"
soak env ITERATIONS="${VERBS_ITERATIONS:-20000}" tools/check-verbs.sh "$folder"
exit $failed
