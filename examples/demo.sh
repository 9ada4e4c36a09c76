#!/bin/sh
# The main job on made-up recordings: `make demo`. $1 is the folder of the program.
set -eu
bin=$1
out=.agentv/demo
cd "$(dirname "$0")/.."
mkdir -p .agentv
rm -rf "$out"
say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
test -t 1 || say() { printf '\n$ %s\n' "$*"; }

say "python examples/replay.py examples/claude.jsonl | agentv-stream consume --stream-log summary"
"$bin/python" examples/replay.py examples/claude.jsonl |
    "$bin/agentv-stream" consume --stream-log summary --out "$out" 2>&1

say "cat $out/*.stream.log"
cat "$out"/*.stream.log | cut -c1-110

say "agentv-stream stats examples/ --by tool"
"$bin/agentv-stream" stats examples/*.jsonl --by tool

say "agentv-stream stats examples/"
"$bin/agentv-stream" stats examples/*.jsonl

say "agentv-stream check examples/spec.yaml examples/*.jsonl"
"$bin/agentv-stream" check examples/spec.yaml examples/*.jsonl

transcript=$(ls "$out"/*.transcript.jsonl)
printf '\nThe transcript is %s (%s rows).\n' "$transcript" "$(wc -l < "$transcript" | tr -d ' ')"
