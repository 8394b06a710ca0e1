# What is too large, malformed or absurd: one clear line and a documented exit status, never a crash.
bats_require_minimum_version 1.5.0
load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# Runs in bounded time and memory, and ends by itself.
bounded() {
    (ulimit -v $((${REMORA_TEST_SCALE:-1} > 1 ? 1 << 45 : 4000000)); timeout 120 "$REMORA" "$@")
}

one_line() {
    [ "$(grep -c . <<<"$output")" -le 8 ] # one or two messages: a line, its source, the caret, a hint
    [ "${#output}" -lt 1000 ]
}

threads() {
    echo "RDMA_TSO threads$1"
    echo "{ node 0: x; }"
    for t in $(seq 0 $(($1 - 1))); do echo "P$t on 0 { r0 = x; }"; done
    echo "exists (0:r0 = 0)"
}

statements() {
    echo "RDMA_TSO statements$1"
    echo "{ node 0: x; }"
    echo "P0 on 0 {"
    yes "x = 1;" | head -n "$1"
    echo "}"
    echo "exists (x = 1)"
}

@test "64 threads run, 65 are too many" {
    threads 64 >64.litmus
    run -0 bounded check 64.litmus
    threads 65 >65.litmus
    run -2 bounded check 65.litmus
    one_line
    [[ "$output" == *"65.litmus:"*"64"* ]]
}

@test "10,000 statements" {
    statements 10000 >long.litmus
    run bounded check -q long.litmus
    echo "$status $output"
    [ "$status" -eq 0 ] || [ "$status" -eq 2 ] || [ "$status" -eq 3 ]
    [ "$status" -eq 0 ] || [ "${#output}" -lt 1000 ]
}

@test "a test of 10 MB" {
    { statements 10; } >comment.litmus
    { head -n 2 comment.litmus; echo "/*"; yes "long comment" | head -c 10000000; echo "*/"; tail -n +3 comment.litmus; } >big.litmus
    run bounded check -q big.litmus
    [ "$status" -eq 0 ] || { [ "$status" -eq 2 ] && one_line; }
    { echo "RDMA_TSO x"; head -c 10000000 /dev/zero | tr '\0' 'a'; } >word.litmus
    run -2 bounded check -q word.litmus
    one_line
    { echo "RDMA_TSO x"; echo "{ node 0: x; }"; echo "P0 on 0 { r0 = "; head -c 5000000 /dev/zero | tr '\0' '('; } >deep.litmus
    run -2 bounded check -q deep.litmus
    one_line
}

@test "repetition without end" {
    sed 's/x = 1;/repeat (1000000000) { repeat (1000000000) { x = 1; } }/' <<<"$(statements 1)" >repeat.litmus
    run bounded check -q repeat.litmus
    [ "$status" -eq 2 ] || [ "$status" -eq 3 ]
    [ "${#output}" -lt 2000 ]
}

@test "numbers beyond 64 bits, nodes beyond 64" {
    printf 'RDMA_TSO n\n{ node 0: x = 18446744073709551616; }\nP0 on 0 { x = 1; }\nexists (x = 1)\n' >n.litmus
    run -2 bounded check n.litmus
    one_line
    printf 'RDMA_TSO n\n{ node 64: x; }\nP0 on 64 { x = 1; }\nexists (x = 1)\n' >n.litmus
    run -2 bounded check n.litmus
    one_line
    printf 'RDMA_TSO n\n{ node 99999999999999999999: x; }\nP0 on 0 { x = 1; }\nexists (x = 1)\n' >n.litmus
    run -2 bounded check n.litmus
    one_line
}

@test "no memory: one line, exit status 3" {
    [ "${REMORA_TEST_SCALE:-1}" -eq 1 ] || skip "a sanitized program needs all addresses"
    endless big >big.litmus
    run -3 bash -c 'ulimit -v 40000; timeout 200 "$REMORA" check -j 1 -q --engine operational big.litmus 2>&1 | tail -n 1; exit ${PIPESTATUS[0]}'
    [ "$output" = "remora: out of memory" ] || [ -z "$output" ]
}

@test "no memory: what was decided before is printed" {
    [ "${REMORA_TEST_SCALE:-1}" -eq 1 ] || skip "a sanitized program needs all addresses"
    endless big >big.litmus
    statements 1 >one.litmus
    run -3 bash -c 'ulimit -v 50000; timeout 60 "$REMORA" check -j 1 -q --engine operational one.litmus big.litmus'
    [[ "$output" == "Test statements1 Allowed"*"remora: out of memory" ]] || [[ "$output" == *"Partial (memory"* ]]
}
