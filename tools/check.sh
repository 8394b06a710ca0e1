#!/bin/sh
# check.sh FOLDER: all tests in a release build, all tests in a sanitized build (with fewer random programs), and a build by clang.
# Goes on after a failure, so that everything is seen at once; the exit status tells.
set -u
folder=$1
cd "$(dirname "$0")/.."
failed=0

echo "== tests"
tools/build.sh "$folder" && meson test -C "$folder" --print-errorlogs --no-rebuild || failed=1

# With sanitizers gcc gives warnings that are none (one is silenced); those of the plain builds count.
echo "== tests, with sanitizers"
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:exitcode=99
tools/build.sh "$folder-sanitized" -Db_sanitize=address,undefined -Dbuildtype=debugoptimized -Dwerror=false -Dc_args=-Wno-format-truncation &&
    REMORA_TEST_SCALE=10 meson test -C "$folder-sanitized" --print-errorlogs --no-rebuild --timeout-multiplier 5 ||
    failed=1

echo "== build by clang"
CC=clang tools/build.sh "$folder-clang" || failed=1

tools/count-tests.py "$folder" "$folder-sanitized" || failed=1
exit $failed
