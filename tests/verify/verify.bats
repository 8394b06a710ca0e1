# remora verify: its exit statuses and its output; programs of tests under the model.

load ../cli/helper
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR"
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

@test "tests under the model: one verdict for all orders of a put's words" {
    run -0 "$MODELS/model_message_passing" a_block_then_a_flag
    [[ $output = "ok      a_block_then_a_flag, 1 outcome, "*" (in all 6 orders in which the words of its puts and gets can arrive)" ]]
    run -1 "$MODELS/model_seqlock" seqlock_in_one_put_backwards
    [[ ${lines[0]} = "FAILED  seqlock_in_one_put_backwards: in P1, read_together_backwards, seqlock.c:"* ]]
    [[ $output != *"ok "* ]]
    [[ $output = *"posts word 1 of 3 of a put of together[0]@0 to together[0]@1"* ]]
    [[ $output = *"The 3 words of P0's put are not one step"* ]]
}

@test "tests under the model: what is to blame is said" {
    run -1 "$MODELS/model_message_passing" a_get_without_wait
    [[ $output = *"still on its way: P1's get of data@0 (step 8)"* ]]
    [[ $output = *"What is out of order in this run:"*"a rem_wait for the work id of the first would keep the order"* ]]
    run -1 "$MODELS/model_mcs_lock" mcs_lock_without_fence
    [[ $output = *".holds (one_sees_both, mcs_lock.c:"* && $output = *"results[0][0], which P0 left, is 1"* ]]
    [[ $(tr -s ' \n' ' ' <<<"$output") = *"P0's put of 1 to counter@0 (step "*"stands before its put of 1 to granted@1"* ]]
    [[ $(tr -s ' \n' ' ' <<<"$output") = *"rem_gfence(thread, REM_NODE(0)) would keep the order."* ]]
    run -1 "$MODELS/model_designs" release_by_overwriting_put
    [[ $(tr -s ' \n' ' ' <<<"$output") = *"between the two halves of P1's remote fetch-and-add"* ]]
    run -1 "$MODELS/model_designs" reread_between_check_and_wait
    [[ $output = *"P1 waits for ever in wait_for_change   [designs.c:50]"*"each round of its loop finds word@1 = 1"* ]]
    [[ $output = *"Nothing is out of order in this run"* ]]
}

@test "the example of docs/verify.md is what is printed" {
    run -1 "$MODELS/model_message_passing" a_get_without_wait
    [ "$output" = "$(sed -n '/^FAILED  a_get_without_wait/,/^```/p' "$SOURCE/docs/verify.md" | sed '$d')" ]
}
