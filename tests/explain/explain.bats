#!/usr/bin/env bats
# remora check --why, --dot, --svg, --trace.
bats_require_minimum_version 1.5.0

setup() {
    load ../cli/helper
    cd "$BATS_TEST_TMPDIR"
}

@test "the examples of docs/explanations.md are what is printed" {
    "$SOURCE/tests/explain/docs.py"
}

@test "--dot: graphviz reads the graphs of the whole corpus, without a warning" {
    remora check -q --dot graphs "$SOURCE/litmus" >out 2>messages
    ! grep -v ': no picture of ' messages
    [ "$(ls graphs | wc -l)" -gt 400 ]
    for graph in graphs/*.dot; do
        dot -Tcanon "$graph" >/dev/null 2>>complaints
    done
    [ ! -s complaints ]
}

@test "--dot and --svg: the same for any number of threads" {
    remora check -q -j 1 --dot one "$SOURCE/litmus/paper" >/dev/null
    remora check -q -j 4 --dot four "$SOURCE/litmus/paper" >/dev/null
    diff -r one four
}

@test "--svg: graphviz draws a picture without a warning" {
    run -0 --separate-stderr remora check -q --svg picture.svg "$SOURCE/litmus/paper/fig8e.litmus"
    [ -z "$stderr" ]
    grep -q '</svg>' picture.svg
}

@test "--svg without graphviz: one line, exit status 2; --dot does without" {
    mkdir empty
    run -2 --separate-stderr env PATH="$PWD/empty" "$REMORA" check -q --svg picture.svg "$SOURCE/litmus/paper/fig5.litmus"
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"graphviz"* ]]
    [ -z "$output" ]
    PATH="$PWD/empty" "$REMORA" check -q --dot graph.dot "$SOURCE/litmus/paper/fig5.litmus"
    grep -q digraph graph.dot
}

@test "pictures that can't be written: one line, exit status 2" {
    run -2 --separate-stderr remora check -q --dot /no/such/folder/x.dot "$SOURCE/litmus/paper/fig5.litmus"
    [ "${#stderr_lines[@]}" -eq 1 ]
    touch file
    run -2 --separate-stderr remora check -q --dot file "$SOURCE/litmus/paper"
    [ "${#stderr_lines[@]}" -eq 1 ]
    if [ -w /dev/full ]; then
        run -2 --separate-stderr remora check -q --dot /dev/full "$SOURCE/litmus/paper/fig5.litmus"
        [ "${#stderr_lines[@]}" -eq 1 ]
    fi
}

@test "an outcome that no values give has no picture" {
    store_buffering none "~exists (0:r0 = 7)" >none.litmus
    run -0 --separate-stderr remora check -q --why --dot none.dot none.litmus
    [[ "$output" == *"Impossible in RDMA-WAIT: no values that the reads could take give this: (0:r0=7)"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [ ! -e none.dot ]
}

@test "tests of the same name get pictures of their own" {
    mkdir a b
    store_buffering one "exists (0:r0 = 0)" >a/t.litmus
    store_buffering two "exists (0:r0 = 1)" >b/t.litmus
    remora check -q --dot graphs a b
    [ "$(ls graphs | tr '\n' ' ')" = "t-2.dot t.dot " ]
}

@test "forall: an outcome that is an exception" {
    store_buffering every "forall (0:r0 = 1)" >every.litmus
    run -1 remora check -q --why every.litmus
    [[ "$output" == *"Allowed by RDMA-WAIT: 0:r0=0;"* ]]
}

@test "--json --why: the cycle closes, and its events are there" {
    remora check -q --json --why "$SOURCE/litmus" >out
    jq -se 'map(.explanation | select(.cycle) | select(.cycle | length > 1)) | length > 200 and all(
        .events as $e | .cycle as $c | all(range($c | length);
            $c[.].to == $c[(. + 1) % ($c | length)].from and $e[$c[.].from].id == $c[.].from))' out
    jq -se 'all(.explanation.verdict != "allowed" or (.explanation.outcome as $o | .states | index($o)))' out
}

@test "--trace: a run with that outcome" {
    run -0 remora check -q --trace "$SOURCE/litmus/paper/fig5.litmus"
    [[ "$output" == *"A run with 0:r0=0; 1:r0=0; "* ]]
    run -0 remora check -q --trace=full "$SOURCE/litmus/paper/fig5.litmus"
    run -2 --separate-stderr remora check --trace=half "$SOURCE/litmus/paper/fig5.litmus"
    run -0 remora check -q --trace "$SOURCE/litmus/paper/fig8e.litmus"
    [[ "$output" == *"A run: not found: no outcome fulfils the proposition"* ]]
    remora check -q --json --trace "$SOURCE/litmus/paper/fig5.litmus" | jq -e '.trace | length > 5'
}

@test "--trace: where the implementation does not reach the outcome, that is said" {
    run -0 remora check -q --trace "$SOURCE/litmus/paper/fig8b.litmus"
    [[ "$output" == *"A run: not found: the libraries' implementations do not reach it"* ]]
}

@test "--verbose: a run that gets stuck" {
    cat >stuck.litmus <<'END'
RDMA_TSO stuck
{ node 0: x; node 1: y; }
P0 on 0 { put(y, 1); poll(1); poll(1); r0 = x; }
exists (0:r0 = 0)
END
    run remora check -q -v stuck.litmus
    [[ "$output" == *"A run that gets stuck"* ]]
}
