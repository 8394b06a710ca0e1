#!/bin/sh
# demo.sh FOLDER: the whole corpus as a table of verdicts, and two execution graphs in FOLDER/demo.
set -eu
folder=$1
cd "$(dirname "$0")/.."
"$folder/src/cli/remora" check -q --json litmus | tools/table.py
