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
    [[ "$output" == *"Cannot happen under RDMA-WAIT: (0:r0=7)"*"(However the threads run, the values never come out like"* ]]
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
    [[ "$output" == *"Can happen under RDMA-WAIT: 0:r0=0;"*"hence \"No\" above"* ]]
}

# A test of one thread on node 0 and one on node 1, x and p on the first, y on the second; the condition is $3.
two_threads() {
    cat <<END
${4:-RDMA_WAIT} two
{ node 0: x, p; node 1: y; }
P0 on 0 { $1 }
P1 on 1 { $2 }
$3
END
}

# Breaks of lines may come anywhere.
why() {
    remora check -q --why "$@" | sed '1,/^Hash=/d' | tr -s ' \n' ' '
}

@test "every name that explanations and runs print is explained" {
    "$SOURCE/tests/explain/words.py" "$REMORA" "$SOURCE/litmus"
}

@test "--why, allowed: a lettered circle, what to add before which line, and a numbered order" {
    run why "$SOURCE/litmus/paper/fig5.litmus"
    [[ "$output" == *"Can happen under RDMA-WAIT: 0:r0=0; 1:r0=0; (\"Ok\" above means only that the condition is met, not that"* ]]
    [[ "$output" == *"A would have to happen before B, B before C, and so on, and D before A again."* ]]
    [[ "$output" == *"* A. P0 put(y, 1, d): on node 1 y becomes 1 [aNRW_1] stands before B in the program, but"* ]]
    [[ "$output" == *"To keep it, before P0's \"r0 = x\" (line 11) add gfence({1}): it blocks until all that P0 did"* ]]
    [[ "$output" == *" B. P0 r0 = x: reads x = 0 [aCR] it reads the initial x=0, so C, which writes 1, comes later (rb)"* ]]
    [[ "$output" == *"and so back to A. Both additions are needed: one step whose order is lost leaves the circle open, as below. ("*"One order in which it happens: 1. P0 "* ]]
    [[ "$output" == *"> 4. P1 "*"(> 4 happens before 8, although the statement of 8 stands first in P1's program.)"* ]]
}

@test "--why, allowed: a load from its own thread's store buffer is no kept order" {
    run why "$SOURCE/litmus/x86/n6.litmus"
    [[ "$output" == *"* A. P0 x = 1: "*"before P0's \"r1 = y\" (line 10) add mfence(): it blocks"* ]]
    [[ "$output" != *" needed"* ]]
    [[ "$output" == *"(> 1 reads the value of 5 in P0's own store buffer, before it is in memory.)"* ]]
}

@test "--why, allowed: threads that merely interleave" {
    two_threads "put(y, 1, d);" "r0 = y;" "exists (1:r0 = 1)" >t.litmus
    run why t.litmus
    [[ "$output" == *"No reordering is involved: every statement takes effect in program order, and the threads merely interleave"*"only another algorithm would."* ]]
    run why "$SOURCE/litmus/designs/cpu-and-remote-atomics.litmus"
    [[ "$output" == *"No reordering is involved: "*"steps of other threads come between its parts. A fence or wait does not rule this out. It is ruled out if every thread writes x by remote atomics only (rfaa, rcas), on its own node too. One"* ]]
    [[ "$output" == *"(> 3 comes between 1 and 4, the two halves of P1's rfaa(p, x, 1, d): 4 writes what it made"* ]]
}

@test "--why, allowed: how often to poll, and which operation lacks a work id" {
    two_threads "put(y, 1); get(p, y); r0 = p; poll(1);" "r0 = 0;" "exists (0:r0 = 0)" RDMA_TSO >t.litmus
    run why t.litmus
    [[ "$output" == *"before P0's \"r0 = p\" (line 3) add poll(1) 2 times (completions come oldest first), and take away 1 poll further down: it"* ]]
    two_threads "put(y, 1); get(p, y); r0 = p;" "r0 = 0;" "exists (0:r0 = 0)" >t.litmus
    run why t.litmus
    [[ "$output" == *"To keep it, give \"get(p, y)\" (line 3) a work id, d say, and before P0's \"r0 = p\" (line 3) add wait(d): it"* ]]
}

@test "--why, forbidden: ways to get it, other outcomes, and why a choice is none" {
    run why "$SOURCE/litmus/paper/fig12c.litmus"
    [[ "$output" == *"Cannot happen under RDMA-WAIT and the library specifications: 1:r0=1; 1:r1=0; It could only come about in one way,"* ]]
    [[ "$output" == *"each step below must come before the next, and the last before the first: A. P0 put(x, 1, d): "*" D. P1 r1 = x: "*" so A, which writes 1, comes later (rb) and so back to A."* ]]
    [[ "$output" == *"(why this order and not the other: see (1) below)"*"and so back to A. (1) Could P1 hold lock l before P0? No: "* ]]
    [[ "$output" == *" 1.1. P0 acquire(l): "*" 1.2. P0 f = 1: f becomes 1 [aCW] 1.3 reads f=1, "*" 1.6. P1 release(l): lock l is released [aNRW_1] Words:"* ]]
    run why "$SOURCE/litmus/paper/fig8e.litmus"
    [[ "$output" == *"(No other outcome that meets the condition can happen either; it is explained for this one.)"* ]]
    run why "$SOURCE/litmus/rules/r13-lock-held-until-landed-same-node.litmus"
    [[ "$output" == *"(An outcome that would break forall ("*"): it cannot happen.) It could only come about in 4 ways (they differ in which"* ]]
    [[ "$output" == *"No: then the last of these would come before the first (ar); but each comes before the next:"* ]]
    two_threads "r0 = x;" "r0 = y;" "exists (0:r0 = 1)" >t.litmus
    run why t.litmus
    [[ "$output" == *"(However the threads run, the values never come out like"* ]]
}

@test "--why: a condition that names nothing, or that every outcome fulfils" {
    for condition in "exists (true)" "~exists (true)" "forall (true)" "exists (false)"; do
        two_threads "put(y, 1, d);" "r0 = y;" "$condition" >t.litmus
        [ "$(why t.litmus | cut -d: -f1)" = "Nothing to explain" ]
    done
    two_threads "await(x == 1);" "r0 = y;" "exists (true)" >t.litmus
    run why t.litmus
    [[ "$output" == "Stuck 1 Nothing to explain: "*"Every run gets stuck: P0 waits at await(x == 1), "*"So there is no outcome."* ]]
    two_threads "put(y, 1, d);" "r0 = y;" "exists (false)" >t.litmus
    run why --all-state t.litmus
    [[ "$output" == *"(The condition is the same whatever happens: it asks about no outcome.)"* ]]
    two_threads "put(y, 1, d);" "r0 = y;" "exists (1:r0 = 0 \/ 1:r0 = 1)" >t.litmus
    run why t.litmus
    [[ "$output" == *"Every outcome meets it; this is one of them.)"* ]]
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
    [[ "$output" == *"A run with 0:r0=0; 1:r0=0; (18 steps)
How to read it: "*"
Words:
"*"
   0. start
"*"
   1. P0  put(y, 1, d): into the store buffer, PUT(y,1)
"*"
   3.     P0's NIC, to node 1: takes the value of put(y, 1, d)  (rule 2)
          | P0 to node 1: pipe PUTV(y,1)
"* ]]
    [[ "$output" == *"
Out of program order: P0's put(y, 1, d) takes effect in step 18, after its r0 = x in step 8, which
stands behind it.
(Whether that matters, and what would keep the order: see --why.)
This is how 0:r0=0; 1:r0=0; comes about." ]]
    run -0 remora check -q --trace "$SOURCE/litmus/designs/cpu-and-remote-atomics.litmus"
    [[ "$output" == *"
No reordering is involved: every operation takes effect in program order.
This is how x=1; comes about." ]]
    run -0 remora check -q --trace=full "$SOURCE/litmus/paper/fig5.litmus"
    run -2 --separate-stderr remora check --trace=half "$SOURCE/litmus/paper/fig5.litmus"
    run -0 remora check -q --trace "$SOURCE/litmus/paper/fig8e.litmus"
    [[ "$output" == *"A run: not found: no outcome fulfils the condition"* ]]
    remora check -q --json --trace "$SOURCE/litmus/paper/fig5.litmus" | jq -e '.trace | length > 5'
}

@test "--trace: where the implementation does not reach the outcome, that is said" {
    run -0 remora check -q --trace "$SOURCE/litmus/paper/fig8b.litmus"
    [[ "$output" == *"A run: not found: the libraries' implementations do not reach it"* ]]
}

@test "--trace shows a run that gets stuck where no outcome answers, and else says who waits where" {
    run -0 remora check -q --trace "$SOURCE/litmus/stuck/poll-once-too-often.litmus"
    [[ "$output" == *"A run: not found: no outcome fulfils the condition"*"A run that gets stuck (6 steps)"* ]]
    [[ "$output" == *"Stuck: P0 waits at poll(1), "*"Every run gets stuck. So \"Ok\" says nothing." ]]
    run -0 remora check -q --trace "$SOURCE/litmus/stuck/await-missed.litmus"
    [[ "$output" == *"
This is how 1:r0=2; comes about.
Besides, some runs get stuck: P1 waits at await(x == 1). (--verbose shows such a run.)" ]]
}

@test "--why ends with who waits where in a run that gets stuck" {
    run why "$SOURCE/litmus/stuck/poll-once-too-often.litmus"
    [[ "$output" == *"(0:r0=1) Every run gets stuck: P0 waits at poll(1), and nothing is under way that could let it go on. So \"Ok\" says nothing. (--verbose shows such a run.) " ]]
    for lock in nlock slock wlock; do
        run why "$SOURCE/litmus/stuck/deadlock-${lock}s.litmus"
        [[ "$output" == *"Besides, some runs get stuck. Deadlock: P0 waits at acquire(m) (P1 holds m), P1 at acquire(l) (P0 holds l). It is ruled out if all threads acquire these locks in one order. (--verbose shows such a run.) " ]]
        run why "$SOURCE/litmus/stuck/$lock-not-released.litmus"
        [[ "$output" == *"Besides, some runs get stuck: P1 waits at acquire(l) (P0 holds l). (--verbose"* ]]
    done
    run why "$SOURCE/litmus/paper/fig5.litmus"
    [[ "$output" != *" stuck"* ]]
    two_threads "r0 = x; assume(r0 == 1); poll(1);" "put(x, 1);" "exists (0:r0 = 1)" RDMA_TSO >t.litmus
    run why t.litmus
    [[ "$output" == *"(No run comes to its end: each gets stuck or fails an assume.)"*"Besides, some runs get stuck: "* ]]
}

@test "--verbose: a run that gets stuck" {
    cat >stuck.litmus <<'END'
RDMA_TSO stuck
{ node 0: x; node 1: y; }
P0 on 0 { put(y, 1); poll(1); poll(1); r0 = x; }
exists (0:r0 = 0)
END
    run remora check -q -v stuck.litmus
    [[ "$output" == *"A run that gets stuck"*"
No reordering is involved: every operation takes effect in program order.
Stuck: P0 waits at poll(1), and nothing is under way that could let it go on. What is missing is a
step that gives the completion that P0 waits for.
Every run gets stuck. So there is no outcome." ]]
    run remora check -q -v "$SOURCE/litmus/stuck/await-each-other.litmus"
    [[ "$output" == *"that changes the value that P0 or P1 waits for."* ]]
    run remora check -q -v "$SOURCE/litmus/stuck/lock-held-while-awaiting.litmus"
    [[ "$(tr '\n' ' ' <<<"$output")" == *" that changes the value, or releases the lock that P0 or P1 waits for. " ]]
    run remora check -q -v "$SOURCE/litmus/stuck/deadlock-wlocks.litmus"
    [[ "$(tr '\n' ' ' <<<"$output")" == *"Deadlock: P0 waits at acquire(m) (P1 holds m), "*" It is ruled out if all threads acquire these locks in one order. " ]]
}
