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
    [[ $output = *"FAILED  seqlock_broken: P1, "*"seqlock.c:"*"assertion failed: a == b"* ]]
    [[ $output = *"P1 loads b@1: 1   [seqlock.c:"* ]]
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
