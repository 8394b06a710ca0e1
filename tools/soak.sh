#!/bin/sh
# soak.sh FOLDER: 20,000 random programs under each model, and 20,000 with library calls. SEED chooses others.
set -u
remora=$1/src/cli/remora
seed=${SEED:-1}
count=${COUNT:-20000}
failed=0
soak() {
    echo "== remora fuzz --seed $seed --count $count $*"
    "$remora" fuzz --seed "$seed" --count "$count" "$@" || failed=1
}
soak --arch RDMA_TSO
soak --arch RDMA_WAIT
soak --arch RDMA_WAIT --libraries
exit $failed
