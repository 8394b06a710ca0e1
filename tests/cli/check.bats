# remora check: output, options, exit statuses.
bats_require_minimum_version 1.5.0
load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    store_buffering SB "exists (0:r0 = 0 /\\ 1:r0 = 0)" >sb.litmus
    store_buffering SB-no "~exists (0:r0 = 0 /\\ 1:r0 = 0)" >no.litmus
}

@test "the output has herd's layout" {
    run --separate-stderr remora check sb.litmus
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    expected="Test SB Allowed
States 4
0:r0=0; 1:r0=0;
0:r0=0; 1:r0=1;
0:r0=1; 1:r0=0;
0:r0=1; 1:r0=1;
Ok
Witnesses
Positive: 1 Negative: 3
Condition exists (0:r0=0 /\\ 1:r0=0)
Observation SB Sometimes 1 3
Time SB"
    [ "$(echo "$output" | without_times | head -n 12)" = "$expected" ]
    [[ "${lines[12]}" =~ ^Hash=[0-9a-f]{32}$ ]]
    # an empty line ends the test
    [ "$(remora check sb.litmus | tail -n 1)" = "" ]
}

@test "~exists: Positive counts the states that bear it out" {
    run -1 remora check no.litmus
    [ "${lines[0]}" = "Test SB-no Forbidden" ]
    [ "${lines[6]}" = "No" ]
    [ "${lines[8]}" = "Positive: 3 Negative: 1" ]
    [ "${lines[10]}" = "Observation SB-no Sometimes 1 3" ]
}

@test "forall: Required, and what holds in all states is Always" {
    store_buffering all "forall (0:r0 = 0 \\/ 0:r0 = 1)" >all.litmus
    run -0 remora check all.litmus
    [ "${lines[0]}" = "Test all Required" ]
    [[ "$output" == *"Positive: 2 Negative: 0"* ]]
    [[ "$output" == *"Observation all Always 2 0"* ]]
    store_buffering some "forall (0:r0 = 1)" >some.litmus
    run -1 remora check some.litmus
    [[ "$output" == *"No"*"Positive: 1 Negative: 1"* ]]
}

@test "exists that no state fulfils: No, Never, exit status 1" {
    store_buffering never "exists (0:r0 = 7)" >never.litmus
    run -1 remora check never.litmus
    [[ "$output" == *"Observation never Never 0 2"* ]]
}

@test "a condition without atoms still has a state" {
    store_buffering true "exists (true)" >true.litmus
    run -0 remora check true.litmus
    [ "$(remora check true.litmus | sed -n 2,4p)" = "States 1

Ok" ]
}

@test "--all-state shows every register and location" {
    run -0 remora check --all-state sb.litmus
    [[ "$output" == *"0:r0=0; 1:r0=0; x=1; y=1;"* ]]
    run -0 remora check -a sb.litmus
    [[ "$output" == *"0:r0=0; 1:r0=0; x=1; y=1;"* ]]
}

@test "locations are shown behind registers, and copies of shared variables as herd's arrays" {
    cat >sv.litmus <<'END'
RDMA_WAIT sv
{ shared s = 0; node 0: b = 0; nodes 2; }
P0 on 0 { s = 1; bcast(s, {1}, d); b = 3; }
P1 on 1 { r9 = s; r1 = s; }
locations [b; s@0;]
exists (s@1 = 1 /\ 1:r1 = 0 /\ 1:r9 = 0)
END
    run -0 remora check sv.litmus
    [[ "$output" == *$'\n'"1:r9=0; 1:r1=0; s[0]=1; s[1]=1; b=3;"$'\n'* ]]
    [[ "$output" == *"Condition exists (s[1]=1 "* ]]
    [[ "$(remora check --json sv.litmus | jq -c '.states[0]')" == *'"s@1":1'* ]]
}

@test "large values: signed in text as herd reads them, unsigned in JSON" {
    cat >big.litmus <<'END'
RDMA_TSO big
{ node 0: x = 18446744073709551615, y = 9223372036854775808; }
P0 on 0 { r0 = x; }
exists (0:r0 = -1 /\ y = 0x8000000000000000)
END
    run -0 remora check big.litmus
    [[ "$output" == *"0:r0=-1; y=-9223372036854775808;"* ]]
    [[ "$output" == *"Condition exists (0:r0=-1 /\\ y=-9223372036854775808)"* ]]
    run -0 remora check --json big.litmus
    [[ "$output" == *'"states":[{"0:r0":18446744073709551615,"y":9223372036854775808}]'* ]]
}

@test "several files: output in the order of the command line, the largest exit status" {
    run -1 remora check no.litmus sb.litmus
    [ "$(echo "$output" | grep -c '^Test ')" -eq 2 ]
    [ "${lines[0]}" = "Test SB-no Forbidden" ]
}

@test "the same test twice is checked twice" {
    run -0 remora check sb.litmus sb.litmus
    [ "$(echo "$output" | grep -c '^Test SB ')" -eq 2 ]
}

@test "folders: *.litmus in order of name, recursively" {
    mkdir -p d/b d/a
    for f in d/z d/b/y d/a/x d/a/w; do
        store_buffering "$(basename $f)" "exists (true)" >$f.litmus
    done
    echo nonsense >d/a/README
    run -0 remora check d
    [ "$(echo "$output" | grep ^Test | cut -d' ' -f2 | tr '\n' ' ')" = "w x y z " ]
}

@test "a folder without tests is an error" {
    mkdir empty
    run -2 remora check empty
    [ "$output" = "remora check: empty: no *.litmus file in this folder" ]
    run -2 remora check empty sb.litmus
    [[ "$output" == *"Test SB Allowed"* ]]
}

@test "standard input" {
    run -0 remora check - <sb.litmus
    [ "${lines[0]}" = "Test SB Allowed" ]
    run -2 remora check - </dev/null
    [[ "$output" == "<stdin>:"*"error: "* ]]
}

@test "a bad file is told with its place; the others are checked all the same" {
    printf 'RDMA_WAIT bad\n{ node 0: x; }\nP0 on 0 { x = ; }\nexists (x = 0)\n' >bad.litmus
    run -2 --separate-stderr remora check bad.litmus sb.litmus
    [[ "$output" == "Test SB Allowed"* ]]
    [[ "${stderr_lines[0]}" == "bad.litmus:3:"*": error: "* ]]
}

@test "files that are none: missing, /dev/null, binary, a folder's name as a file" {
    run -2 remora check missing.litmus
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == *"missing.litmus"*"No such file"* ]]
    run -2 remora check /dev/null
    [[ "$output" == *"error"* ]]
    head -c 100000 "$REMORA" >binary.litmus
    run -2 remora check binary.litmus
    [ "${#lines[@]}" -le 5 ]
    run -2 timeout 20 "$REMORA" check /dev/zero
}

@test "--json: one object a line, and nothing else" {
    remora check --json sb.litmus no.litmus >out || [ $? -eq 1 ]
    [ "$(wc -l <out)" -eq 2 ]
    jq -se 'length == 2' out
    head -n 1 out | jq -e '
        .name == "SB" and .file == "sb.litmus" and .arch == "RDMA_WAIT" and .engine == "declarative" and
        .holds == true and .complete == true and .quantifier == "exists" and .observation == "Sometimes" and
        .positive == 1 and .negative == 3 and .stuck == 0 and (.explored | type) == "number" and
        (.seconds | type) == "number" and .states[0] == {"0:r0": 0, "1:r0": 0} and (.states | length) == 4'
    tail -n 1 out | jq -e '.quantifier == "~exists" and .holds == false and .positive == 3 and .negative == 1'
}

@test "--json: file names of any bytes" {
    name=$'od"d\\ n\na\tme \xff\xfe\xc3\xa9.litmus'
    cp sb.litmus "$name"
    remora check --json "$name" | jq -e '.file == "od\"d\\ n\na\tme \ufffd\ufffdé.litmus"'
    remora check "$name"
}

@test "-q silences warnings" {
    printf 'RDMA_WAIT w\n{ node 0: x, unused; }\nP0 on 0 { x = 1; }\nexists (x = 1)\n' >w.litmus
    run -0 --separate-stderr remora check w.litmus
    [[ "$stderr" == *"warning"* ]]
    run -0 --separate-stderr remora check -q w.litmus
    [ -z "$stderr" ]
}

@test "a test of which no run comes to its end holds with a warning" {
    printf 'RDMA_TSO void\n{ nodes 2; }\nP0 on 0 { poll(1); r0 = 1; }\n~exists (0:r0 = 1)\n' >void.litmus
    run -0 --separate-stderr remora check --why void.litmus
    [[ "$stderr" == "void.litmus: warning: every run gets stuck, so there is no state to ask about" ]]
    [[ "$output" == *"Cannot happen under RDMA-TSO: (0:r0=1)"*"Every run gets stuck: P0 waits at poll(1), "* ]]
    run -0 --separate-stderr remora check -q void.litmus
    [ -z "$stderr" ]
}

@test "--verbose tells the engine and its work" {
    run -0 remora check --verbose sb.litmus
    [[ "$output" == *"Engine declarative"*"Explored "* ]]
}

@test "any number of threads gives the same output" {
    for i in $(seq 40); do store_buffering "t$i" "exists (0:r0 = 0)" >t$i.litmus; done
    endless slow >a.litmus
    remora check -j 1 --max-states 2000 . 2>&1 | without_times >one || true
    remora check -j 7 --max-states 2000 . 2>&1 | without_times >seven || true
    cmp one seven
    [ "$(grep -c ^Test one)" -eq 43 ]
}

@test "--max-states: a partial answer, said to be one, exit status 3" {
    endless big >big.litmus
    run -3 remora check --max-states 3000 big.litmus
    [[ "${lines[1]}" == "Partial (state limit reached): "* ]]
    [[ "$output" == *$'\n'"Undef"$'\n'* ]]
    run -3 remora check --json --max-states 3000 big.litmus
    echo "$output" | jq -e '.complete == false and .holds == null and .partial == "state limit reached"'
}

@test "a limit leaves a decided question decided" {
    endless big | sed 's/^exists.*/exists (~(0:r0 = 99))/' >big.litmus
    run -3 remora check -q --max-states 60000 --engine operational big.litmus
    [[ "$output" == *$'\n'"Ok"$'\n'* ]]
}

@test "--timeout: partial, exit status 3, in time" {
    endless big >big.litmus
    run -3 timeout 20 "$REMORA" check --timeout 0.3 big.litmus
    [[ "$output" == *"Partial (time limit reached)"* ]]
}

@test "--memory: partial, exit status 3" {
    endless big >big.litmus
    run -3 timeout 60 "$REMORA" check --engine operational --memory 2M big.litmus
    [[ "$output" == *"Partial (memory limit reached)"* ]]
}

@test "--memory counts the outcomes too, in both engines" {
    threads=18
    {
        echo "RDMA_TSO ring"
        echo "{ node 0: x0$(seq -f ', x%.0f' -s '' 1 $((threads - 1))); }"
        for ((i = 0; i < threads; i++)); do
            echo "P$i on 0 { x$i = 1; r0 = x$(((i + 1) % threads)); }"
        done
        echo "exists (0:r0 = 0)"
    } >ring.litmus
    for engine in declarative operational; do
        run -3 timeout 60 "$REMORA" check --all-state --engine $engine --memory 5M ring.litmus
        [[ "$output" == *"Partial (memory limit reached)"* ]]
    done
}

@test "interrupted: prints what is known, says so, exit status 3" {
    endless big >a.litmus
    for f in b c d; do endless $f >$f.litmus; done
    for signal in INT TERM; do
        "$REMORA" check -j 1 a.litmus b.litmus c.litmus d.litmus >out 2>err &
        pid=$!
        sleep 0.7
        kill -$signal $pid
        status=0
        wait $pid || status=$?
        [ "$status" -eq 3 ]
        [ "$(head -n 1 out)" = "Test big Allowed" ]
        [ "$(sed -n 2p out)" = "Partial (interrupted): there may be more states than these" ]
        [ "$(grep -c ^Test out)" -eq 1 ]
        grep -q "interrupted: 3 of 4 tests were not begun" err
    done
}

@test "a reader that closes early ends it quietly" {
    for i in $(seq 300); do echo sb.litmus; done >list
    run -0 bash -c '(xargs "$REMORA" check <list; true) 2>err | head -n 1'
    [ "$output" = "Test SB Allowed" ]
    # xargs tells of the signal that ended the program; the program itself says nothing
    ! grep remora err | grep -v terminated
}

@test "a full disk is an error" {
    run -2 bash -c '"$REMORA" check sb.litmus >/dev/full'
    [ "$output" = "remora: cannot write to standard output: No space left on device" ]
    run -2 bash -c '"$REMORA" --help >/dev/full'
}

@test "closed standard streams: the exit status tells, and no file takes their place" {
    run -2 bash -c '"$REMORA" check --dot sb.dot sb.litmus <&- >&- 2>&-'
    run -0 remora check --dot again.dot sb.litmus
    cmp sb.dot again.dot
    run -2 bash -c '"$REMORA" check --dot one.dot missing.litmus sb.litmus 2>&-'
    [[ "$output" == "Test SB Allowed"* ]]
}

@test "many files of one name: each has its picture" {
    for i in $(seq 400); do
        mkdir $i
        ln sb.litmus $i/t.litmus
    done
    mkdir other
    ln sb.litmus other/t-2.litmus
    run -0 timeout 60 "$REMORA" check -q --dot graphs other [0-9]*
    [ "$(ls graphs | wc -l)" -eq 401 ]
}

@test "bad usage: exit status 2" {
    run -2 remora check
    run -2 remora check --nonsense sb.litmus
    run -2 remora check --engine quantum sb.litmus
    [[ "$output" == *"there is no engine \`quantum'"* ]]
    for n in 0 -1 x 1x "" 99999999999999999999999; do
        run -2 remora check --max-states "$n" sb.litmus
    done
    for n in 0 -1 x nan inf ""; do
        run -2 remora check --timeout "$n" sb.litmus
    done
    for n in 0 -1 x 4X 4GG 99999999999T; do
        run -2 remora check --memory "$n" sb.litmus
    done
    run -2 remora check -j 0 sb.litmus
}

@test "options are understood in every place and form" {
    run -0 remora check sb.litmus --engine=declarative --memory 100M -j2 --timeout 5 --max-states 1000 --no-reduction
    run -0 remora check -e declarative -- sb.litmus
    run -0 remora check --help
    [[ "$output" == *"--all-state"*"Exit status"* ]]
}

@test "a progress line appears on a terminal only, and is erased" {
    script -qec true /dev/null >/dev/null || skip "no pseudo-terminal to be had"
    endless big >big.litmus
    script -qec "'$REMORA' check --timeout 1 big.litmus" typescript >/dev/null || true
    grep -Eq $'\r\033\\[K\\[0/1\\] big.litmus, [1-9][0-9]+ states' typescript
    grep -q $'\r\033\\[KTest big Allowed' typescript
    script -qec "'$REMORA' check -q --timeout 1 big.litmus" typescript >/dev/null || true
    ! grep -q $'\033' typescript
}

@test "a named pipe without a writer is an empty test, not an endless wait" {
    mkfifo pipe
    run -2 timeout 20 "$REMORA" check pipe
    [[ "$output" == *"has no test in it"* ]]
}
