"""The examples in the help of each command."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "consume": (
        'codex exec --json "fix the bug" | agentv-stream consume',
        "agentv-stream consume session.jsonl --stats - --quiet | jq .tokens",
        "my-agent | agentv-stream consume --check ci.yaml --stream-log summary",
    ),
    "run": (
        'agentv-stream run --task fix-1 -- codex exec --json "fix the bug"',
        'agentv-stream run --target codex --prompt "fix the bug" --repeat 3',
        "agentv-stream run --check ci.yaml --fail-fast --timeout 10m -- my-agent",
        "agentv-stream run --json --quiet -- my-agent | jq -r .outputs.result",
    ),
    "check": (
        "agentv-stream check ci.yaml run.jsonl sessions/",
        "agentv-stream check ci.yaml .agentv/runs --junit report.xml",
    ),
    "validate": ("agentv-stream validate ci.yaml .agentv/targets.yaml",),
    "report": (
        "agentv-stream report .agentv/runs -o report.html",
        "agentv-stream report .agentv/runs --baseline base --candidate search",
    ),
    "sessions": (
        "agentv-stream sessions --since 2d --project .",
        "agentv-stream sessions --provider codex --json | jq -r .path",
    ),
    "show": (
        "agentv-stream show 3f2a",
        "agentv-stream show session.jsonl --full | less",
        "agentv-stream show 3f2a --json | jq -c .tool_calls",
    ),
    "search": (
        'agentv-stream search "connection refused" --since 7d',
        "agentv-stream search parse_header --json | jq -r .command",
    ),
    "tail": (
        "agentv-stream tail",
        "agentv-stream tail ~/.claude/projects --out logs/ --once",
        "agentv-stream tail --all --events | jq -c .type",
    ),
    "watch": (
        "agentv-stream watch",
        "agentv-stream watch --provider claude --since today",
        "agentv-stream watch --json --once | jq 'select(.stalled)'",
    ),
    "import": (
        "agentv-stream import ~/.claude/projects --dry-run",
        "agentv-stream import runs/ --jsonl results.jsonl --resume",
        "agentv-stream import ~/.codex/sessions --parquet dataset/",
    ),
    "stats": (
        "agentv-stream stats",
        "agentv-stream stats ~/.claude/projects --by day",
        "agentv-stream stats runs/ --by model --json - | jq .total",
    ),
    "query": (
        'agentv-stream query "SELECT tool, count(*) FROM tool_calls GROUP BY 1"',
        "agentv-stream query @slow.sql dataset/ --csv",
    ),
    "page": ("agentv-stream page 3f2a -o session.html", "agentv-stream page runs/*.jsonl -o pages/"),
    "redact": ("agentv-stream redact session.jsonl | gzip -c", "agentv-stream redact --list session.jsonl"),
    "analyze": ("agentv-stream analyze session.jsonl", "agentv-stream analyze ~/.claude/projects --json | jq .kind"),
    "mcp": ("agentv-stream mcp ~/.claude/projects --spec evals/ci.yaml",),
    "providers": ("agentv-stream providers --provider codex", "agentv-stream providers --drift session.jsonl"),
    "tools": ("agentv-stream tools --provider gemini",),
    "schema": ("agentv-stream schema transcript",),
    "completion": ("agentv-stream completion bash", "agentv-stream completion zsh"),
    "cursors": ("agentv-stream cursors list", "agentv-stream cursors reset 3f2a"),
    "faults": ("agentv-stream faults list logs/", "agentv-stream faults retry logs/"),
}
