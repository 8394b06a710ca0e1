# remora verify: its exit statuses and its output; programs of tests under the model.

load ../cli/helper
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# Text whose lines are broken anywhere.
words() {
    tr -s ' \n' ' '
}

@test "the table has a row for each library asked for" {
    run -0 remora verify -q --bound small sv object
    [[ ${lines[0]} = Library* ]]
    [[ ${lines[1]} = "sv "*sound ]]
    [[ ${lines[2]} = "object "*sound ]]
    [ "${#lines[@]}" -eq 3 ]
}

@test "JSON: one object a library" {
    run -0 remora verify -q --bound small --json wait
    [ "$(jq -r '.library + " " + .verdict + " " + (.clients == .done | tostring)' <<<"$output")" = "wait sound true" ]
}

@test "a log makes an unfinished verification go on where it ended" {
    remora verify -q --bound small --resume log sv
    [ "$(wc -l <log)" -gt 100 ]
    remora verify -q --bound small --resume log sv >second
    head -50 log >part
    run -0 remora verify -q --bound small --resume part sv
    [ "$(wc -l <part)" -eq "$(wc -l <log)" ]
}

@test "a client that is given up is unknown, never sound" {
    run -3 remora verify -q --bound small --max-states 1 --json object
    [ "$(jq -r .verdict <<<"$output")" = unknown ]
}

@test "clients can be printed, and are litmus tests" {
    remora verify --print --bound small object >clients.txt
    [ "$(grep -c ^RDMA_WAIT clients.txt)" -eq "$(remora verify -q --bound small --json object | jq .clients)" ]
    sed -n '/^RDMA_WAIT object-5$/,/^$/p' clients.txt >one.litmus
    remora check -q one.litmus
}

@test "bad usage" {
    run -2 remora verify --bound huge
    run -2 remora verify glock
}

@test "tests under the model: what is right passes, what is wrong is told with its lines" {
    run -1 "$MODELS/model_seqlock"
    [[ $output = *"ok      seqlock,"* ]]
    [[ $output = *"FAILED  seqlock_broken: in P1, read_both, seqlock.c:29: assertion failed: a == b (they are 0 and 1)"* ]]
    [[ $output = *"P1 loads b@1: 1   [seqlock.c:26]"* ]]
    run -1 "$MODELS/model_message_passing"
    [[ $output = *"ok      puts_arrive_in_order,"* && $output = *"ok      a_get_with_wait,"* ]]
    [[ $output = *"FAILED  a_get_without_wait"* ]]
    run -1 "$MODELS/model_mcs_lock"
    [[ $output = *"ok      mcs_lock,"* && $output = *"FAILED  mcs_lock_without_fence"* ]]
    run -1 "$MODELS/model_designs"
    [ "$(grep -c 'it can get stuck' <<<"$output")" -eq 2 ]
    [[ $output != *"ok "* ]]
    run -0 "$MODELS/model_seqlock" seqlock
}

@test "tests under the model: bad usage" {
    run -2 --separate-stderr "$MODELS/model_seqlock" nosuch
    [ "$stderr" = "model_seqlock: there is no test \`nosuch'" ]
    run -2 "$MODELS/model_seqlock" --max-states=many
    run -2 "$MODELS/model_seqlock" --nosuch
}

@test "tests under the model: one verdict for all orders of a put's words" {
    run -0 "$MODELS/model_message_passing" a_block_then_a_flag
    [[ $output = "ok      a_block_then_a_flag, 1 outcome, "*" (in all 6 orders in which the words of its puts and gets can arrive)" ]]
    run -1 "$MODELS/model_seqlock" seqlock_in_one_put_backwards
    [[ ${lines[0]} = "FAILED  seqlock_in_one_put_backwards: in P1, read_together_backwards, seqlock.c:"* ]]
    [[ $output != *"ok "* ]]
    [[ $output = *"posts a put of 3 words: together[0]@0 into together[0]@1 and so on (each word travels by itself, in any order)"* ]]
    [[ $output = *"word 3 of its put of step 4 lands: together[2]@1 = 1"* ]]
    [[ $output = *"still on its way: the other word of P0's put of step 4"* ]]
    [[ $(words <<<"$output") = *"its words land one by one, in any order (so far only together[0]@1, then together[2]@1)"*"send a flag by a second put"* ]]
}

@test "tests under the model: what is to blame is said" {
    run -1 "$MODELS/model_message_passing" a_get_without_wait
    [[ $output = *"still on its way: P1's get of data@0 (step 8)"* ]]
    [[ $(words <<<"$output") = *"What is out of order in this run:"*"brought its result yet when the run ends."* ]]
    [[ $(words <<<"$output") = *"Before rem_load (message_passing.c:75), add rem_wait(thread, 0), for the work id 0 of rem_get (message_passing.c:74): it blocks until"* ]]
    run -1 "$MODELS/model_mcs_lock" mcs_lock_without_fence
    [[ $output = *".holds (one_sees_both, mcs_lock.c:"* && $output = *"results[0][0], which P0 left, is 1"* ]]
    [[ $(words <<<"$output") = *"P0's put of 1 to counter@0 (step "*"stands before its put of 1 to granted@1"* ]]
    [[ $(words <<<"$output") = *"Before rem_put_value (mcs_lock.c:50), add rem_gfence(thread, REM_NODE(0)): it blocks until"* ]]
    run -1 "$MODELS/model_designs" release_by_overwriting_put
    [[ $(words <<<"$output") = *"between the two halves of P1's remote fetch-and-add"*"write the word by remote atomics only."* ]]
    run -1 "$MODELS/model_designs" reread_between_check_and_wait
    [[ $output = *"P1 waits for ever in wait_for_change   [designs.c:50]"*"each round of its loop finds word@1 = 1 (last written in step 3)"* ]]
    [[ $(words <<<"$output") = *"No reordering is involved. What is missing is, for P1, a write to word@1 after step 3."*"word@1: 0 in step 2, 1 in step 4, 1 in step 5."* ]]
    run -1 "$MODELS/model_seqlock" seqlock_broken
    [[ $(words <<<"$output") = *"No reordering is involved: "*"the algorithm itself must change."* ]]
}

@test "tests under the model: locks are told of" {
    run -1 "$MISTAKES" forgets_to_release
    [[ $output = *"P1 now holds lock, with ticket 1"*"P1 has ended, still holding lock"*"P2 waits for ever in forgets"* ]]
    [[ $output = *"l.serving the ticket whose turn it is."* ]]
    [[ $(words <<<"$output") = *"What is missing is, for P2, a write to lock.serving after step 13. P1 has ended without releasing lock."* ]]
    run -1 "$MISTAKES" two_locks_in_two_orders
    [[ $output = *"P0 waits for ever in one_then_other, still holding lock"* ]]
    [[ $(words <<<"$output") = *"Deadlock: each of the threads that wait holds a lock and waits for another one."* ]]
    run -1 "$MISTAKES" data_on_another_node
    [[ $output = *"P0 releases lock:"* ]]
    [[ $(words <<<"$output") = *"Before rem_nlock_release (mistakes_model.c:"*"), add rem_gfence(thread, REM_NODE(1)): it blocks until"* ]]
}

@test "tests under the model: mistakes are told with what mends them" {
    run -1 "$MISTAKES" a_get_of_two_words
    [[ $(words <<<"$output") = *"A get of 2 words, as P1's of step 2, is not one step: its words are read one by one"* ]]
    [ "$(grep -c 'polls the completion of its get' <<<"$output")" -eq 1 ]
    run -1 "$MISTAKES" source_reused_too_early
    [[ $(words <<<"$output") = *"add rem_wait(thread, 3), for the work id 3 of rem_put (mistakes_model.c:"*"): it blocks until that has read its source."* ]]
    run -1 "$MISTAKES" store_buffering
    [[ ${lines[1]} = "  all are 0" ]]
    [ "$(words <<<"$output" | grep -o 'add rem_mfence(thread): it blocks' | wc -l)" -eq 2 ]
    [[ $output = *"Both changes are needed to rule this run out."* ]]
    run -1 "$MISTAKES" cpu_and_remote_atomics
    [[ $(words <<<"$output") = *"so the fetch-and-add is overwritten."* ]]
}

# Of three faults that are put into the library.
@test "a violation of shm says why it is forbidden, one that gets stuck what it asks" {
    run -0 "$SOURCE/tools/mutants-verify.py" "$BUILD" shm-put-without-drain nlock-release-to-dispenser wait-polls-one-too-few
    [[ $output = *"3 mutants killed, 0 alive" ]]
    run -0 words <"$BUILD/mutants/shm-put-without-drain/violation-shm.txt"
    [[ $output = *"~exists (x=91 /\\ y=90)"*"The C code can end in a state that the specification forbids: x=91; y=90"* ]]
    [[ $output = *"have an mfence or a locked instruction, which waits until the thread's stores are in memory."* ]]
    [[ $output = *"The change above mends this, too."*"Why the specification forbids it: Cannot happen under RDMA-WAIT"* ]]
    run -0 words <"$BUILD/mutants/wait-polls-one-too-few/violation-wait.txt"
    [[ $output = *"P1: wait(d) (takes no step)"*"wait(d) should keep them in order; for that it must poll the completion of the get of step 1."* ]]
    run -0 words <"$BUILD/mutants/nlock-release-to-dispenser/violation-nlock.txt"
    [[ $output = *"(* No thread may wait for ever. *) exists (true)"* ]]
    [[ $output = *"No reordering is involved. What is missing is, for P1, a write to l.serving."* ]]
}

@test "the example of docs/verify.md is what is printed" {
    run -1 "$MODELS/model_message_passing" a_get_without_wait
    [ "$output" = "$(sed -n '/^FAILED  a_get_without_wait/,/^```/p' "$SOURCE/docs/verify.md" | sed '$d')" ]
}
