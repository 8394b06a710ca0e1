#!/bin/sh
# build.sh FOLDER [MESON-OPTION...]: sets FOLDER up if it is not, and builds in it.
set -eu
folder=$1
shift
cd "$(dirname "$0")/.."
log=$folder.setup.log
if [ ! -f "$folder/build.ninja" ]; then
    meson setup "$folder" "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
rm -f "$log"
exec ninja -C "$folder" --quiet
