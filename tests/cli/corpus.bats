# The corpus holds, by every engine that must say so, and herd's log readers can read what we print of it.
bats_require_minimum_version 1.5.0
load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# All tests of the folder are in this JSON Lines file.
all_there() {
    [ "$(wc -l <"$1")" -eq "$(find "$2" -name '*.litmus' | wc -l)" ]
}

@test "the whole corpus holds" {
    remora check -q --json "$SOURCE/litmus" >out 2>err || true
    jq -r 'select(.holds != true or .complete != true) | .file' out >failing
    cat failing err
    [ ! -s failing ]
    [ ! -s err ]
    all_there out "$SOURCE/litmus"
}

@test "every test of the paper holds by the specifications" {
    run -0 remora check -q --json --engine declarative "$SOURCE/litmus/paper"
    [ "${#lines[@]}" -eq 39 ]
}

@test "no engine contradicts another, nor a forbidden test" {
    remora check -q --json --engine both "$SOURCE/litmus" >out || true
    all_there out "$SOURCE/litmus"
    jq -r 'select(.agree != true or .complete != true) | .file' out >failing
    cat failing
    [ ! -s failing ]
}

@test "stuck runs are found whatever the engine, and with the reduction on" {
    for options in "" "--engine both" "--engine operational" "--engine operational --no-reduction"; do
        remora check -q --json $options "$SOURCE/litmus/stuck" >out || true
        all_there out "$SOURCE/litmus/stuck"
        jq -r '"\(.name) \(.stuck)"' out >stuck
        [ -s first ] || cp stuck first
        diff first stuck
    done
    [ "$(grep -vc ' 0$' first)" -ge 15 ]
}

@test "herd's log readers can read the output" {
    remora check -q "$SOURCE/litmus" >log
    python3 "$SOURCE/tests/cli/herd_log.py" log
    remora check -q --engine both --verbose --all-state "$SOURCE/litmus/paper" >log
    python3 "$SOURCE/tests/cli/herd_log.py" log
}

@test "herd's log readers can read partial and stuck tests" {
    endless big >big.litmus
    cat >stuck.litmus <<'END'
RDMA_TSO stuck
{ node 0: x, Node, Ok; }
P0 on 0 { x = 1; poll(0); }
P1 on 0 { Ok = 1; Node = 2; }
exists (Node = 2 /\ Ok = 1)
END
    remora check -q --max-states 2000 big.litmus stuck.litmus >log || true
    grep -q '^Partial' log
    grep -q '^Stuck 1$' log
    python3 "$SOURCE/tests/cli/herd_log.py" log
}
