#!/bin/sh
# The main job on made-up recordings: `make demo`. $1 is the folder of the program.
set -eu
cd "$(dirname "$0")/.."
bin=$1
out=.agentv/demo
mkdir -p .agentv
rm -rf "$out"

if [ -t 1 ]; then bold='\033[1m' plain='\033[0m'; else bold='' plain=''; fi
say() { printf "\n$bold\$ %s$plain\n" "$*"; }

printf 'A recording, replayed as a live agent prints it, goes through the pipe.\n'
say "python examples/replay.py examples/claude.jsonl | agentv-stream consume --stream-log summary"
"$bin/python" examples/replay.py examples/claude.jsonl |
    "$bin/agentv-stream" consume --stream-log summary --out "$out"

say "head -16 $out/*.stream.log"
head -16 "$out"/*.stream.log | cut -c1-100

say "agentv-stream check examples/spec.yaml examples/codex.jsonl"
"$bin/agentv-stream" check examples/spec.yaml examples/codex.jsonl

say "agentv-stream stats examples/*.jsonl --by tool"
"$bin/agentv-stream" stats examples/*.jsonl --by tool

say "agentv-stream stats examples/*.jsonl"
"$bin/agentv-stream" stats examples/*.jsonl

transcript=$(ls "$out"/*.transcript.jsonl)
printf '\nThe transcript of the first run, %s rows:\n%s\n' "$(wc -l < "$transcript" | tr -d ' ')" "$transcript"
