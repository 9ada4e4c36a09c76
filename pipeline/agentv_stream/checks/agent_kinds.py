"""AgentV's kinds of targets: how the agents among them are started, and which settings a target may have."""

from dataclasses import dataclass

PROMPT = "{PROMPT}"
MODEL = "{MODEL}"


@dataclass(frozen=True, slots=True)
class AgentKind:
    """How the agents of a provider kind are started: `command` with {PROMPT}, `model` the option words for a model, if
    one is set; None if the model can only be set in the agent's own configuration. `piped` is the command for a prompt
    on standard input, None if it is not known to read one there."""

    provider: str
    command: tuple[str, ...]
    model: tuple[str, ...] | None = ("--model", MODEL)
    piped: tuple[str, ...] | None = None


_CLAUDE = AgentKind(
    "claude",
    ("claude", "-p", PROMPT, "--output-format", "stream-json", "--verbose"),
    piped=("claude", "-p", "--output-format", "stream-json", "--verbose"),
)
_CODEX = AgentKind("codex", ("codex", "exec", "--json", PROMPT), ("-m", MODEL), ("codex", "exec", "--json", "-"))
_COPILOT = AgentKind("copilot", ("copilot", "-p", PROMPT, "--output-format", "json"))
_GEMINI = AgentKind(
    "gemini",
    ("gemini", "-p", PROMPT, "--output-format", "stream-json"),
    ("-m", MODEL),
    ("gemini", "--output-format", "stream-json"),
)
_PI = AgentKind("pi", ("pi", "-p", PROMPT, "--mode", "json"))

AGENT_KINDS: dict[str, AgentKind] = {
    **dict.fromkeys(("claude", "claude-cli", "claude-code", "claude-sdk", "cc-mirror"), _CLAUDE),
    **dict.fromkeys(("codex", "codex-cli", "codex-sdk", "codex-app-server"), _CODEX),
    **dict.fromkeys(("copilot", "copilot-cli", "copilot-sdk"), _COPILOT),
    **dict.fromkeys(("gemini-cli",), _GEMINI),
    **dict.fromkeys(("pi", "pi-cli", "pi-sdk", "pi-rpc", "pi-coding-agent"), _PI),
    **dict.fromkeys(("oh-my-pi", "omp"), AgentKind("oh-my-pi", ("omp", "-p", PROMPT, "--mode", "json"))),
    "opencode": AgentKind("opencode", ("opencode", "run", "--format", "json", PROMPT)),
    "kilo": AgentKind("kilo", ("kilo", "run", "--format", "json", PROMPT)),
    "qwen": AgentKind("qwen", ("qwen", "-p", PROMPT, "--output-format", "stream-json"), ("-m", MODEL)),
    "kimi": AgentKind("kimi", ("kimi", "-p", PROMPT, "--output-format", "stream-json"), ("-m", MODEL)),
    "cline": AgentKind("cline", ("cline", "--json", PROMPT), ("-m", MODEL)),
    "grok": AgentKind("grok", ("grok", "-p", PROMPT, "--output-format", "streaming-json"), ("-m", MODEL)),
    "openhands": AgentKind("openhands", ("openhands", "--headless", "--json", "-t", PROMPT), None),
    **dict.fromkeys(("vibe", "mistral-vibe"), AgentKind("vibe", ("vibe", "-p", PROMPT, "--output", "streaming"), None)),
    "cli": AgentKind("", (), ()),
}
"""AgentV's provider kinds that are command-line agents, and the agents for which it has no kind."""

OTHER_KINDS = frozenset(
    (
        "openai",
        "openrouter",
        "azure",
        "azure-openai",
        "anthropic",
        "gemini",
        "google",
        "google-gemini",
        "mock",
        "replay",
        "transcript",
        "agentv",
        "vscode",
        "vscode-insiders",
        "copilot-log",
        "static_trace",
    )
)
"""Known kinds that cannot be run here: models without an agent, editors, replays."""

SETTINGS = frozenset(
    """name provider use_target grader_target judge_target workers provider_batching subagent_mode_allowed
    fallback_targets executable command binary args arguments model cwd timeout_seconds log_dir log_directory log_format
    log_output_format stream_log system_prompt subprovider base_url api_key bearer_token api_version api_format cli_url
    cli_path github_token max_turns max_budget_usd variant endpoint deployment version temperature max_output_tokens
    thinking_budget max_retries retry_initial_delay_ms retry_max_delay_ms retry_backoff_factor retry_status_codes
    healthcheck files_format attachments_format command_template wait dry_run subagent_root response delay_ms
    delay_min_ms delay_max_ms trace fixtures execution_traces transcripts source_target suite eval_path session_dir
    session_id session_state_dir discover verbose keep_temp_files workspace_template hooks profile sandbox
    approval_policy env environment tools thinking resource resource_name description id label config runtime
    reasoning_effort model_reasoning_effort permission_mode settings allowed_tools disallowed_tools sandbox_mode
    bypass_permissions skills options protocol request_timeout_ms pool""".split()  # noqa: SIM905 - a list of words
)
"""Settings of targets in any version of AgentV."""
