# The front: commands, help, version; manual pages and README say what is true.
bats_require_minimum_version 1.5.0
load helper

setup() {
    cd "$BATS_TEST_TMPDIR"
}

@test "--help lists the commands" {
    run -0 --separate-stderr remora --help
    [[ "$output" == "Usage: remora COMMAND"*check*fmt*fuzz* ]]
    [ -z "$stderr" ]
}

@test "--version" {
    run -0 remora --version
    [[ "$output" =~ ^remora\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    run -0 remora check --version
    [[ "$output" =~ ^remora\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "no command, or an unknown one: one line, exit status 2" {
    run -2 --separate-stderr remora
    [ "${#stderr_lines[@]}" -eq 1 ]
    [ -z "$output" ]
    run -2 --separate-stderr remora frobnicate
    [ "$stderr" = "remora: unknown command \`frobnicate'; try \`remora --help'" ]
}

# What remora launch refuses: status 2, the given first line, and nothing is started.
refused() {
    local line=$1
    shift
    run -2 --separate-stderr "$@" -- echo started
    [ "${stderr_lines[0]}" = "remora launch: $line" ]
    [ -z "$output" ]
}

@test "remora launch starts nothing here when hosts were meant, or on an unknown transport" {
    echo '# nobody' >hosts
    refused "no host in \`hosts'" remora launch --hostfile hosts
    refused "cannot read \`.': Is a directory" remora launch --hostfile .
    refused "--launcher and --rsh are for --hosts or --hostfile" remora launch --launcher ssh
    refused "--launcher and --rsh are for --hosts or --hostfile" remora launch --rsh ssh
    for wrong in REMORA_HEAP=-1 REMORA_THREADS=0 REMORA_TIMEOUT=soon; do
        refused "${wrong%=*} can't be \`${wrong#*=}'" env $wrong "$REMORA" launch
    done
    refused "--rsh wants a command" remora launch --hosts a --rsh ' '
    refused "REMORA_PROVIDER: no provider \`foo'; \`remora info' lists them" env REMORA_PROVIDER=foo "$REMORA" launch
}

@test "remora launch: the command instead of ssh may have arguments" {
    printf '#!/bin/sh\n[ "$1 $2 $3" = "-p 22 here" ] && exec sh -c "$4"\n' >agent
    chmod +x agent
    run -0 --separate-stderr remora launch --hosts here --launcher ssh --rsh "$PWD/agent -p  22" -- echo started
    [ "$output" = started ]
}

@test "remora launch tells the signal that has killed a node, whatever libraries the node loads" {
    mkfifo input
    exec 7<>input
    run -134 --separate-stderr remora launch -n 1 -- sh -c \
        '(sleep 1; kill -ABRT $$) >/dev/null 2>&1 & exec "$0" check -' "$REMORA" <&7
    [ "$stderr" = "remora launch: node 0 was killed by signal 6 (Aborted)" ]
}

@test "remora verify: a log that can't be opened is told once, and ends it" {
    run -2 --separate-stderr remora verify --bound small --resume no/such/log
    [ "$stderr" = "remora verify: no/such/log: No such file or directory" ]
}

@test "every option of every command is in its manual page" {
    for command in check fmt fuzz run launch bench info; do
        page=$(mandoc -Tascii "$SOURCE/man/remora-$command.1" | col -b)
        for option in $(remora $command --help | grep -oE -- '--[a-z-]+' | sort -u); do
            case $option in --help | --usage | --version) continue ;; esac
            grep -qe "$option" <<<"$page" || { echo "$command $option"; false; }
        done
    done
}

@test "manual pages have no faults" {
    mandoc -Tlint "$SOURCE"/man/*.[15] | grep -v 'referenced manual not found\|mandoc.db' >faults || true
    cat faults
    [ ! -s faults ]
}

# Splits the literal displays of a page into files of one test each.
examples_of() {
    mandoc -Tascii "$1" | col -bx | awk '
        /^ *RDMA_(TSO|WAIT) [A-Za-z0-9+_-]+$/ { file = "example" ++n ".litmus" }
        file { print > file }
        /^ *(exists|~exists|forall) \(/ { file = "" }'
}

@test "the examples of remora-litmus(5) are tests, and hold" {
    examples_of "$SOURCE/man/remora-litmus.5"
    [ "$(ls example*.litmus | wc -l)" -eq 4 ]
    run -0 --separate-stderr remora check example*.litmus
    [ -z "$stderr" ]
}

# The fenced blocks of the README, by the word behind the fence.
block() {
    awk -v fence="$1" '$0 == "```" fence && !inside { inside = 1; next } /^```/ && inside { exit } inside' "$SOURCE/README.md"
}

@test "the README's first test prints what the README says" {
    block litmus >sb.litmus
    awk '/^```litmus/ { seen = 1; next } seen && /^```$/ && ++fences == 2 { on = 1; next } /^```/ { on = 0 } on' \
        "$SOURCE/README.md" | without_times >expected
    remora check sb.litmus | without_times | sed '$d' >actual
    diff expected actual
}

@test "the README's commands exist" {
    for target in $(block sh | sed -n 's/^make \([a-z]*\).*/\1/p') install soak; do
        make -C "$SOURCE" -n "$target" >/dev/null
    done
}

@test "make install: program, manual pages, corpus and pkg-config file" {
    meson install -C "$BUILD" --no-rebuild --quiet --destdir "$PWD/root"
    prefix=$PWD/root$(meson introspect "$BUILD" --buildoptions | jq -r '.[] | select(.name == "prefix") | .value')
    [ "$("$prefix/bin/remora" --version)" = "$(remora --version)" ]
    for page in man1/remora.1 man1/remora-check.1 man1/remora-fmt.1 man1/remora-fuzz.1 man5/remora-litmus.5; do
        [ -f "$prefix/share/man/$page" ]
    done
    export PKG_CONFIG_PATH=$prefix/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=
    pkg-config --exists remora
    [ "$(pkg-config --modversion remora)" = "$(remora --version | cut -d' ' -f2)" ]
    litmusdir=$(pkg-config --define-variable=prefix="$prefix" --variable=litmusdir remora)
    [ "$(find "$litmusdir" -name '*.litmus' | wc -l)" -eq "$(find "$SOURCE/litmus" -name '*.litmus' | wc -l)" ]
    [ -x "$(pkg-config --define-variable=prefix="$prefix" --variable=bindir remora)/remora" ]
}
