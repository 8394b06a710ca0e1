# remora run: what it prints, what it says of outcomes that the model forbids, and how it ends.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >SB.litmus <<'END'
RDMA_TSO SB+puts
{ node 0: x; node 1: y; }
P0 on 0 { put(y, 1); poll(1); r0 = x; }
P1 on 1 { put(x, 1); poll(0); r0 = y; }
exists (0:r0 = 0 /\ 1:r0 = 0)
END
    cat >MP.litmus <<'END'
RDMA_WAIT MP
{ node 1: data, flag; }
P0 on 0 { put(data, 42, d); put(flag, 1, d); }
P1 on 1 { await(flag == 1); r0 = data; }
forall (1:r0 = 42)
END
    echo 'RDMA_TSO never { node 0: x; } P0 on 0 { await(x == 1); r0 = 1; } exists (0:r0 = 1)' |
        sed 's/ { node/\n{ node/; s/ P0/\nP0/; s/ exists/\nexists/' >never.litmus
}

run_remora() {
    "$REMORA" run "$@"
}

# The program whose checker has lost an outcome: what it still sees of it then counts as forbidden.
faulty() {
    REMORA_FAULT=fewer "$FAULTY" run "$@"
}

@test "herd's log readers can read it" {
    run_remora -q -n 300 "$SOURCE/litmus/paper" "$SOURCE/litmus/x86" "$SOURCE/litmus/stuck/poll-sometimes.litmus" >log
    python3 "$SOURCE/tests/run/litmus_log.py" log | tee read
    grep -qx "12[0-9] tests read" read
}

@test "the layout is litmus7's" {
    run -0 run_remora -q -n 1000 -p weak --seed 1 SB.litmus
    [ "${lines[0]}" = "Test SB+puts Allowed" ]
    [ "${lines[1]}" = "Histogram (4 states)" ]
    [[ "${lines[2]}" =~ ^[0-9]+\ *\*\>0:r0=0\;\ 1:r0=0\;$ ]]
    [[ "${lines[3]}" =~ ^[0-9]+\ *:\>0:r0=0\;\ 1:r0=1\;$ ]]
    [ "${lines[6]}" = Ok ]
    [[ "$output" == *"Condition exists (0:r0=0 /\\ 1:r0=0) is validated"* ]]
    [[ "$output" == *"Allowed outcomes seen: 4 of 4"* ]]
}

@test "JSON: counts add up" {
    run -0 --separate-stderr run_remora --json -n 1234 -p shm,weak SB.litmus MP.litmus never.litmus
    [ "${#lines[@]}" -eq 6 ]
    jq -es 'all(.[]; .end == "done" and .judged and .forbidden == 0 and .iterations == 1234 and
        ([.states[].count] | add // 0) + .stuck + .dropped == 1234 and
        ([.states[] | select(.allowed)] | length) == .allowed_seen and (.unseen | length) == .allowed - .allowed_seen)' <<<"$output"
    jq -es '[.[] | .stuck] == [0, 0, 0, 0, 1234, 1234]' <<<"$output"
    jq -es '[.[] | .provider] == ["shm", "weak", "shm", "weak", "shm", "weak"]' <<<"$output"
}

@test "on the provider weak, the seed decides" {
    one=$(run_remora -n 5000 -p weak --seed 7 SB.litmus MP.litmus | grep -v '^Time')
    two=$(run_remora -n 5000 -p weak --seed 7 SB.litmus MP.litmus | grep -v '^Time')
    three=$(run_remora -n 5000 -p weak --seed 8 SB.litmus MP.litmus | grep -v '^Time')
    [ "$one" = "$two" ]
    [ "$one" != "$three" ]
}

@test "a forbidden outcome: exit status 5, a loud line, and on weak how to see it again" {
    run -5 --separate-stderr faulty -q -n 5000 -p weak SB.litmus
    [[ "$output" == *$'\n'"FORBIDDEN SB+puts (SB.litmus) on weak: 0:r0=1; 1:r0=1; seen "*" times in 5000 iterations; again: REMORA_WEAK=seed="* ]]
    [[ "$stderr" == "FORBIDDEN SB+puts (SB.litmus) on weak: 0:r0=1; 1:r0=1; seen "* ]]
    seed=$(sed -nE 's/^FORBIDDEN.*again: (REMORA_WEAK=[^ ]*) remora run -p weak -n 1 SB.litmus$/\1/p' <<<"$output")
    run -5 env REMORA_FAULT=fewer "$seed" "$FAULTY" run -q -n 1 -p weak SB.litmus
    [[ "$output" == *"Histogram (1 states)"$'\n'"1     :>0:r0=1; 1:r0=1;"* ]]
    run -5 --separate-stderr faulty --json -n 5000 -p weak SB.litmus
    jq -e '.forbidden == 1 and ([.states[] | select(.allowed | not) | .replay | startswith("REMORA_WEAK=seed=")] == [true])' <<<"$output"
}

@test "outcomes that are not all known are not judged" {
    run -3 --separate-stderr run_remora -n 10 --model-timeout 0.01 <(
        echo "RDMA_TSO big"
        echo "{ node 0: x, y, z; }"
        for t in 0 1 2 3 4 5; do
            echo "P$t on 0 { x = 1$t; y = 1$t; z = 1$t; r0 = x; r1 = y; r2 = z; x = 2$t; y = 2$t; r3 = x; r4 = y; }"
        done
        echo "locations [$(for t in 0 1 2 3 4 5; do for r in 0 1 2 3 4; do echo -n "$t:r$r; "; done; done)]"
        echo "exists (0:r0 = 99)")
    [[ "$output" == *"Not judged (time limit reached)"* ]]
}

@test "stop early" {
    run -0 --separate-stderr run_remora --json -n 1000000000 --stop-early -p weak SB.litmus
    jq -e '.end == "early" and .allowed_seen == 4' <<<"$output"
}

@test "limits and signals give what there is" {
    run -3 --separate-stderr run_remora --json -n 100000000000 --timeout 0.3 SB.litmus
    jq -e '.end == "timeout" and .iterations > 0 and ([.states[].count] | add) > 0' <<<"$output"
    "$REMORA" run --json -q -n 100000000000 SB.litmus MP.litmus >out 2>err &
    pid=$!
    sleep 1
    kill -INT $pid
    wait $pid && status=0 || status=$?
    [ $status -eq 3 ]
    jq -es 'length == 1 and .[0].end == "interrupted" and .[0].iterations > 0' out
    grep -q "1 of 2 tests were not begun" err
}

@test "bad usage, and tests that can't be read" {
    run -2 run_remora
    run -2 --separate-stderr run_remora -p nosuch SB.litmus
    [[ "$stderr" == *"no provider \`nosuch'"* ]]
    run -2 --separate-stderr run_remora --pin everywhere SB.litmus
    echo nonsense >bad.litmus
    run -2 --separate-stderr run_remora -n 10 bad.litmus SB.litmus
    [[ "$output" == *"Test SB+puts Allowed"* ]]
    [[ "$stderr" == *"bad.litmus:1:"* ]]
}

@test "what can't be run is skipped by name" {
    {
        echo "RDMA_WAIT ids"
        echo "{ node 0: x; node 1: y; }"
        echo "P0 on 0 { $(for i in $(seq 70); do echo -n "put(y, $i, d$i); "; done) }"
        echo "exists (y = 70)"
    } >ids.litmus
    run -0 --separate-stderr run_remora -q -n 10 ids.litmus SB.litmus
    [[ "$output" == *"Skipped ids on shm: a thread with more than 59 work ids"* ]]
    [[ "$output" == *"shm: 1 tests, 1 skipped"* ]]
}

@test "a summary by provider" {
    run -0 --separate-stderr run_remora -s -n 2000 -p shm,weak SB.litmus MP.litmus
    [[ "${lines[0]}" == "Summary of 2 tests" ]]
    [[ "${lines[1]}" =~ model\ +shm\ +weak ]]
    [[ "${lines[2]}" =~ ^SB.litmus\ +allowed\ +.*seen\ 4/4 ]]
    [[ "$output" == *"weak: 2 tests, 4000 iterations, 0 stuck"* ]]
    [[ "$output" != *Histogram* ]]
}

@test "nodes in processes of their own, by launch: node 0 tells, and the counts are whole" {
    run -0 --separate-stderr "$REMORA" launch -n 2 -- "$REMORA" run --json -n 500 SB.litmus MP.litmus
    jq -es 'length == 2 and all(.[]; .end == "done" and .forbidden == 0 and ([.states[].count] | add) + .stuck == 500)' <<<"$output"
    run -0 --separate-stderr "$REMORA" launch -n 3 -- "$REMORA" run -q -s -n 50 "$SOURCE/litmus/idioms"
    [[ "$output" == *"forbidden outcomes seen: 0"* ]]
    run -0 --separate-stderr "$REMORA" launch -q -n 1 -- "$REMORA" run -n 10 SB.litmus
    [[ "$output" == *"Skipped SB+puts on shm: it needs 2 nodes, the job has 1"* ]]
    run -2 --separate-stderr "$REMORA" launch -q -n 2 -- "$REMORA" run -p weak -n 10 SB.litmus
    [[ "$stderr" == *"leave --provider to the launcher"* ]]
}

@test "over libfabric, jobs of more processes than the test has nodes start, each time" {
    "$REMORA" info | grep -q '^provider ofi' || skip "built without libfabric"
    export FI_PROVIDER=tcp,ofi_rxm # it looks for no others, which takes a while
    for nodes in 3 4 6; do
        run -0 --separate-stderr "$REMORA" launch -q -n $nodes --provider ofi -- "$REMORA" run -n 5 SB.litmus
    done
}

# Whether threads that can't go on are found to be stuck, also those inside a lock, and other tests run on.
@test "stuck runs end" {
    run -0 --separate-stderr run_remora --json -q -n 20 "$SOURCE/litmus/stuck"
    jq -es 'length == 27 and all(.[]; .iterations == 20 and .forbidden == 0)' <<<"$output"
    jq -es '[.[] | select(.name == "await-never" or .name == "poll-nothing" or .name == "await-each-other") | .stuck] == [20, 20, 20]' <<<"$output"
    # Batches of one: a lock that was left taken in the last iteration of a batch is free in the next.
    run -0 --separate-stderr run_remora -q -s --instances 1 -n 40 "$SOURCE"/litmus/stuck/deadlock-*.litmus
    [[ "$output" == *"3 tests, 120 iterations, "* ]]
}

@test "the whole corpus on shm and on weak: nothing that the model forbids" {
    run -0 --separate-stderr run_remora -q -s -n $((100 / ${REMORA_TEST_SCALE:-1})) -p shm,weak --seed 1 "$SOURCE/litmus"
    [ "$(grep -c '  forbidden outcomes seen: 0' <<<"$output")" -eq 2 ]
    grep -q "^shm: 63[0-9] tests, " <<<"$output"
}

@test "a provider with a rule taken out: the alarm is raised" {
    [ "$(nproc)" -ge 2 ] || skip "needs two processors"
    cat >store-get.litmus <<'END'
RDMA_WAIT store-get
{ node 0: x, a; node 1: y, b; }
P0 on 0 { x = 1; get(a, y, d); wait(d); r0 = a; }
P1 on 1 { y = 1; get(b, x, d); wait(d); r0 = b; }
~exists (0:r0 = 0 /\ 1:r0 = 0)
END
    run -5 --separate-stderr "$FAULTY_SHM" run -n 2000000 --timeout 60 store-get.litmus
    [[ "$stderr" == "FORBIDDEN store-get (store-get.litmus) on shm: 0:r0=0; 1:r0=0; seen "* ]]
    run -0 --separate-stderr run_remora -n 20000 store-get.litmus
}
