#!/bin/sh
# mutants.sh FOLDER: builds the engines with switchable faults (src/model/mutants.def) and shows which tests of the corpus notice
# each of them; fails if one goes unnoticed.
set -eu
folder=$1
cd "$(dirname "$0")/.."
tools/build.sh "$folder" -Dmutants=true
exec tests/corpus/mutants.py "$folder/src/cli/remora" src/model/mutants.def litmus
