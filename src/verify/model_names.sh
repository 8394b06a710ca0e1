#!/bin/sh
# model_names.sh LIBRARY PREFIX: a header that gives every global name of the library another one, so that the library compiled for the
# model and the library itself can be linked into one program. But what it shares with the rest of the program (base/) keeps its own.
set -eu
echo "/* Made from the names of libremora. */"
nm -g --defined-only "$1" 2>/dev/null |
    awk -v prefix="$2" '$3 ~ /^[a-z][a-z0-9_]*$/ && $3 !~ /^context_/ || $3 == "rem_drain_" { print "#define " $3 " " prefix $3 }' | sort -u
