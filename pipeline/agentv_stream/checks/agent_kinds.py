"""AgentV's kinds of targets: how the agents among them are started, and which settings a target may have."""

from functools import cache
from typing import NamedTuple

from agentv_stages.model.provider import MODEL as MODEL
from agentv_stages.model.provider import PROMPT as PROMPT
from agentv_stages.model.provider import Start
from agentv_stages.providers import all_providers


class AgentKind(NamedTuple):
    """A provider kind that is a command-line agent: whose, and how it is started. `provider` is empty for any other
    command."""

    provider: str
    start: Start


ANY_COMMAND = "cli"


@cache
def agent_kinds() -> dict[str, AgentKind]:
    """AgentV's provider kinds that are command-line agents, and the agents for which it has no kind."""
    found = {
        kind: AgentKind(provider.name, provider.start)
        for provider in all_providers()
        if provider.start is not None
        for kind in provider.start.kinds
    }
    return {**found, ANY_COMMAND: AgentKind("", Start((), ()))}


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
    reasoning_effort model_reasoning_effort byok permission_mode settings allowed_tools disallowed_tools sandbox_mode
    bypass_permissions skills options protocol request_timeout_ms pool""".split()  # noqa: SIM905 - a list of words
)
"""Settings of targets in any version of AgentV."""
