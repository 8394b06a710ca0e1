#!/bin/sh
# mutants.sh FOLDER: builds the engines with switchable faults (src/model/mutants.def) and shows that the corpus
# notices each of them: by a test that does not hold any more, or engines that disagree.
set -u
folder=$1
cd "$(dirname "$0")/.."
tools/build.sh "$folder" -Dmutants=true || exit 1
remora=$folder/src/cli/remora
alive=0
killed=0
for mutant in $(sed -n 's/^MUTANT_ENTRY(\([A-Za-z0-9_]*\),.*/\1/p' src/model/mutants.def); do
    REMORA_MUTANT=$mutant "$remora" check -q --json --engine both --max-states 30000 litmus >"$folder/mutant.log" 2>/dev/null
    if by=$(tools/killers.py "$folder/mutant.log"); then
        echo "killed  $mutant: $by"
        killed=$((killed + 1))
    else
        echo "ALIVE   $mutant"
        alive=$((alive + 1))
    fi
done
echo "$killed mutants killed, $alive alive"
[ "$alive" -eq 0 ] && [ "$killed" -gt 0 ]
