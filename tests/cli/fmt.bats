# remora fmt: the canonical form, in place, and never losing anything.
bats_require_minimum_version 1.5.0
load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
    store_buffering SB "exists (0:r0 = 0 /\\ 1:r0 = 0)" >sb.litmus
    remora fmt sb.litmus >canonical.litmus
}

@test "prints the canonical form, which is its own" {
    run -0 remora fmt canonical.litmus
    [ "$output" = "$(cat canonical.litmus)" ]
    run -0 remora fmt - <sb.litmus
    [ "$output" = "$(cat canonical.litmus)" ]
    [ "$(remora check sb.litmus | grep Hash)" = "$(remora check canonical.litmus | grep Hash)" ]
}

@test "--check tells, and prints nothing on standard output" {
    run -0 remora fmt --check canonical.litmus
    [ -z "$output" ]
    run -1 --separate-stderr remora fmt --check sb.litmus canonical.litmus
    [ -z "$output" ]
    [ "$stderr" = "remora fmt: sb.litmus: not in the canonical form" ]
}

@test "-i rewrites, keeps the mode, leaves nothing behind" {
    chmod 640 sb.litmus
    run -0 remora fmt -i sb.litmus
    [ -z "$output" ]
    cmp sb.litmus canonical.litmus
    [ "$(stat -c %a sb.litmus)" = 640 ]
    [ "$(ls)" = $'canonical.litmus\nsb.litmus' ]
}

@test "-i leaves a canonical file untouched" {
    touch -d 2001-01-01 canonical.litmus
    remora fmt -i canonical.litmus
    [ "$(stat -c %Y canonical.litmus)" = "$(date -d 2001-01-01 +%s)" ]
}

@test "-i follows symbolic links" {
    ln -s sb.litmus link.litmus
    remora fmt -i link.litmus
    [ -L link.litmus ]
    cmp sb.litmus canonical.litmus
}

@test "-i does not lose comments without --force" {
    for comment in '// c' '/* c */' '(* c *)'; do
        { cat sb.litmus; echo "$comment"; } >c.litmus
        cp c.litmus before
        run -2 remora fmt -i c.litmus
        [ "${#lines[@]}" -eq 1 ]
        [[ "$output" == *"would lose its comments"* ]]
        cmp c.litmus before
        run -0 remora fmt -i --force c.litmus
        cmp c.litmus canonical.litmus
    done
}

@test "-i sees comments whatever quotation marks and backslashes stand before them" {
    sed '1s/SB/a"b/; $a // kept' sb.litmus >name.litmus
    sed '1a "ends with a backslash\\"' sb.litmus | sed '$a // kept' >backslash.litmus
    grep -q 'backslash\\"$' backslash.litmus
    for f in name backslash; do
        run -2 remora fmt -i $f.litmus
        grep -q kept $f.litmus
    done
}

@test "doc strings are kept, also such that look like comments" {
    sed '1a "not // a comment, nor /* this */"' sb.litmus >doc.litmus
    remora fmt -i doc.litmus
    grep -q '^"not // a comment, nor /\* this \*/"$' doc.litmus
    run -0 remora fmt --check doc.litmus
}

@test "a file that can't be read or parsed stays as it is" {
    echo nonsense >bad.litmus
    run -2 remora fmt -i bad.litmus missing.litmus sb.litmus
    [ "$(cat bad.litmus)" = nonsense ]
    cmp sb.litmus canonical.litmus
    run -2 remora fmt missing.litmus
    run -2 remora fmt -i - <sb.litmus
    run -2 timeout 20 "$REMORA" fmt /dev/zero
}

@test "folders" {
    mkdir d
    cp sb.litmus canonical.litmus d
    run -1 remora fmt --check d
    run -0 remora fmt -i d
    run -0 remora fmt --check d
}

@test "bad usage: exit status 2" {
    run -2 remora fmt
    run -2 remora fmt -i --check sb.litmus
    run -2 remora fmt --nonsense sb.litmus
}

@test "the corpus: the canonical form is stable and means the same" {
    for f in "$SOURCE"/litmus/paper/*.litmus; do
        remora fmt "$f" >once.litmus
        remora fmt --check once.litmus
        [ "$(remora check -q "$f" | grep Hash)" = "$(remora check -q once.litmus | grep Hash)" ]
    done
}
