# remora fuzz: deterministic programs, honest counts, and above all no disagreement.
bats_require_minimum_version 1.5.0
load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    count=$((300 / ${REMORA_TEST_SCALE:-1}))
}

# The summary's number of that name.
number() {
    sed -n "s/^$1 //p" <<<"$output"
}

compare() {
    run --separate-stderr remora fuzz --count $count "$@"
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(number Programs)" -eq $count ]
    [ "$(number Disagreements)" -eq 0 ]
    [ $(($(number Compared) + $(number Skipped))) -eq $count ]
    # what is skipped is the exception
    [ $(($(number Skipped) * 5)) -le $count ]
}

@test "RDMA_TSO: the engines have the same outcomes" {
    compare --seed 1 --arch RDMA_TSO --ops 4
}

@test "RDMA_WAIT: what the implementation does is allowed" {
    compare --seed 2 --arch RDMA_WAIT --ops 4
}

@test "RDMA_WAIT with libraries: what the implementations do is allowed" {
    compare --seed 3 --arch RDMA_WAIT --libraries --threads 2 --ops 4
}

@test "programs depend on the seed only" {
    remora fuzz --print --count 50 --seed 5 --arch RDMA_WAIT --libraries >a
    remora fuzz --print --count 50 --seed 5 --arch RDMA_WAIT --libraries >b
    cmp a b
    remora fuzz --print --count 50 --seed 6 --arch RDMA_WAIT --libraries >c
    ! cmp -s a c
    # the same everywhere
    [ "$(remora fuzz --print --count 1 --seed 1 | head -n 1)" = "RDMA_TSO fuzz-5e41ab087439611e" ]
}

@test "any number of threads gives the same summary" {
    remora fuzz --count $((count / 5)) -j 1 >one
    remora fuzz --count $((count / 5)) -j 5 >five
    cmp one five
}

@test "programs are valid tests, printed in the canonical form" {
    remora fuzz --print --count 60 --arch RDMA_WAIT --libraries | csplit -sz -f p -b %03d.litmus - '/^RDMA_/' '{*}'
    for f in p*.litmus; do
        sed -i '${/^$/d}' "$f"
        remora fmt --check "$f"
    done
}

@test "what is beyond the budget is skipped and counted" {
    run -0 remora fuzz --count 20 --max-states 3
    [ "$(number Skipped)" -gt 0 ]
}

@test "bad usage: exit status 2" {
    run -2 remora fuzz --arch ARM
    run -2 remora fuzz --libraries
    run -2 remora fuzz --count 0
    run -2 remora fuzz --threads 1
    run -2 remora fuzz --nodes 9
    run -2 remora fuzz extra
    run -2 remora fuzz --save /nonexistent
}

@test "interrupted: exit status 3" {
    "$REMORA" fuzz --count 10000000 -j 1 >out 2>err &
    pid=$!
    sleep 0.5
    kill -INT $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq 3 ]
    grep -q 'interrupted: [0-9]* programs were not compared' err
    grep -q '^Disagreements 0' out
}
