# What happens when the engines disagree, seen with a program whose operational engine is faulty on purpose (faulty.c).
bats_require_minimum_version 1.5.0
load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    store_buffering SB "exists (0:r0 = 0 /\\ 1:r0 = 0)" >wait.litmus
    cat >tso.litmus <<'END'
RDMA_TSO SB
{ node 0: x, y; }
P0 on 0 { x = 1; r0 = y; }
P1 on 0 { y = 1; r0 = x; }
exists (0:r0 = 0 /\ 1:r0 = 0)
END
}

faulty() {
    fault=$1
    shift
    REMORA_FAULT=$fault "$FAULTY" "$@"
}

@test "without the fault they agree" {
    run -0 "$FAULTY" check --engine both wait.litmus tso.litmus
    [[ "$output" != *Disagreement* ]]
}

@test "an outcome too many: exit status 4 and the state, for both archs" {
    for test in wait tso; do
        run -4 faulty more check --engine both $test.litmus
        [[ "$output" == *$'\n'"States 4"$'\n'* ]]
        [[ "$output" == *$'\n'"Disagreement, only operational: 0:r0=77; 1:r0="[01]";"* ]]
        run -4 faulty more check --engine both --json $test.litmus
        jq -e '.agree == false and (.only_operational | length) == 1 and .only_operational[0]["0:r0"] == 77' <<<"$output"
        ! jq -e '.only_declarative' <<<"$output"
    done
}

@test "an outcome too few: a disagreement for RDMA_TSO, the implementation's freedom for RDMA_WAIT" {
    run -4 faulty fewer check --engine both tso.litmus
    [[ "$output" == *"Implementation 3 of 4 states"*"Disagreement, only declarative: "* ]]
    run -4 faulty fewer check --engine both --json tso.litmus
    jq -e '.agree == false and .implementation == 3 and (.only_declarative | length) == 1' <<<"$output"
    run -0 faulty fewer check --engine both wait.litmus
    [[ "$output" == *$'\n'"States 4"$'\n'* ]]
    [[ "$output" == *$'\n'"Implementation 3 of 4 states"* ]]
    [[ "$output" != *Disagreement* ]]
    run -0 faulty fewer check --engine both --json wait.litmus
    jq -e '.agree == true and .implementation == 3 and (.states | length) == 4' <<<"$output"
}

@test "an engine that was stopped early is not blamed for what it lacks" {
    run -3 faulty fewer check --engine both --max-states 1 tso.litmus
    [[ "$output" != *Disagreement* ]]
}

@test "4 outweighs the other exit statuses" {
    run -4 faulty more check --engine both missing.litmus tso.litmus
    store_buffering no "exists (0:r0 = 5)" >no.litmus
    run -4 faulty more check --engine both no.litmus tso.litmus
}

@test "herd's log readers can read it" {
    faulty more check --engine both tso.litmus wait.litmus >log || true
    python3 "$SOURCE/tests/cli/herd_log.py" log
}

@test "fuzzing finds it, shrinks it, saves it: exit status 4" {
    mkdir found
    run -4 faulty more fuzz --count 8 --save found
    disagreements=$(sed -n 's/^Disagreements //p' <<<"$output")
    [ "$disagreements" -ge 1 ]
    shown=$((disagreements < 5 ? disagreements : 5))
    [ "$(grep -c '^RDMA_TSO fuzz-' <<<"$output")" -eq $shown ]
    [ "$(ls found | wc -l)" -eq $shown ]
    # nothing is left but what shows the fault, and the condition asks for the state
    for f in found/*.litmus; do
        [ "$(grep -c '^P' "$f")" -eq 1 ]
        [ "$(wc -l <"$f")" -le 12 ]
        grep -q '= 77' "$f"
        run -4 faulty more check -q --engine both "$f"
    done
}
