#!/bin/sh
# fuzz-parser.sh FOLDER [SECONDS]: builds the parser's fuzz target with clang and runs it, starting from the litmus tests here.
set -eu
folder=$1
seconds=${2:-600}
[ -f "$folder/build.ninja" ] || CC=clang meson setup "$folder" -Dfuzzing=true -Db_sanitize=address,undefined \
    -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link --buildtype=debugoptimized >/dev/null
ninja -C "$folder" --quiet tests/fuzz/fuzz_parser
mkdir -p "$folder/corpus" "$folder/seeds"
find litmus tests/litmus -name '*.litmus' -exec cp {} "$folder/seeds/" \;
exec nice "$folder/tests/fuzz/fuzz_parser" -dict=tests/fuzz/litmus.dict -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -max_total_time="$seconds" -artifact_prefix="$folder/" -print_final_stats=1 "$folder/corpus" "$folder/seeds"
