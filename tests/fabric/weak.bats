#!/usr/bin/env bats
# The weak provider among processes, as a user starts it.

launch() {
    run timeout 60 "$REMORA" launch -n 3 --grace 1 --provider weak -- "$@"
}

bank() {
    launch "$BUILD/examples/example_bank" 0.3 2
}

@test "the bank's total is right, in every mode" {
    for mode in mix uniform random starve late overtake; do
        export REMORA_WEAK=seed=3,mode=$mode
        bank
        [ "$status" -eq 0 ]
        [ "$(grep -c ' 0 of them wrong' <<<"$output")" -eq 3 ]
    done
}

@test "delays change nothing" {
    REMORA_WEAK=seed=3,delay=0.01 bank
    [ "$status" -eq 0 ]
    [ "$(grep -c ' 0 of them wrong' <<<"$output")" -eq 3 ]
}

@test "a node dies, and the others are told" {
    REMORA_WEAK=seed=4,death=300 bank
    [ "$status" -eq 137 ]
    grep -q 'node 1 was killed' <<<"$output"
    grep -q 'a node of the job has died or left' <<<"$output"
    grep -q 'the adversary was REMORA_WEAK=seed=4,mode=mix,death=300' <<<"$output"
}

@test "an operation fails, and everybody is told" {
    REMORA_WEAK=seed=4,error=300 bank
    [ "$status" -eq 1 ]
    grep -q 'the transport refused or lost an operation' <<<"$output"
    ! grep -q 'killed' <<<"$output"
}

@test "what is not understood is refused" {
    REMORA_WEAK=seed=4,mood=bad bank
    [ "$status" -ne 0 ]
    grep -q 'rem_open' <<<"$output"
}
