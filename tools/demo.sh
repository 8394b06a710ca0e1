#!/bin/sh
# demo.sh FOLDER: the whole corpus as a table of verdicts, and the execution graphs of an allowed and a forbidden test in
# FOLDER/demo.
set -eu
cd "$(dirname "$0")/.."
remora=$1/src/cli/remora
pictures=$1/demo
"$remora" check -q --json litmus | tools/table.py

mkdir -p "$pictures"
draw() {
    "$remora" check -q --svg "$pictures/$1.svg" "litmus/paper/$1.litmus" >/dev/null
    echo "$2: $pictures/$1.svg"
}
echo
draw fig5 "Allowed, an execution that shows it    "
draw fig12a "Forbidden, the cycle that rules it out "
