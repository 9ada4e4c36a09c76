"""Codex: the stream of `codex exec --json`, its older forms, rollout files and the app-server's notifications."""

from agentv_stages.model.deltas import DELTA_TEXT
from agentv_stages.model.provider import MODEL, PROMPT, About, Dialect, LogRoot, Provider, Start, TitleIndex
from agentv_stages.providers.codex.app_server import AppServerDecoder
from agentv_stages.providers.codex.companions import companions, title_index, titles
from agentv_stages.providers.codex.copied_history import history_of
from agentv_stages.providers.codex.detect import (
    detect_app_server,
    detect_exec,
    detect_old_exec,
    detect_old_rollout,
    detect_rollout,
)
from agentv_stages.providers.codex.old_exec import OldExecDecoder
from agentv_stages.providers.codex.old_rollout import OldRolloutDecoder
from agentv_stages.providers.codex.rollout import RolloutDecoder
from agentv_stages.providers.codex.stream import ExecDecoder
from agentv_stages.providers.codex.tools import TABLE

_NO_TIMES = "times of any kind"
_NO_PROMPT = "the user's prompt"

PROVIDER = Provider(
    name="codex",
    title="Codex",
    dialects=(
        Dialect(
            "codex-exec",
            detect_exec,
            ExecDecoder,
            live=True,
            has_end=True,
            losses=(
                _NO_TIMES,
                _NO_PROMPT,
                "the model's name, the version and the folder",
                "tokens of a review, and of a turn that failed or was cut off",
                "calls that a hook refused",
                "patches that failed, unknown tools, bad arguments, waiting for scripts, sub-agents of newer versions",
                "pictures that were viewed or drawn, input to running commands, whether a web search failed",
                "the order of calls that ran in parallel",
                "which calls belong to one answer (turns are counted by what follows a result)",
                "work and cost of sub-agents",
                "a resumed run's own share of the thread's tokens (the total of the thread is shown)",
                "whether an update of a plan, or a whole run, is repeated",
            ),
            has_prompt=False,
            about=About(
                made_by="codex exec --json PROMPT", versions="0.42.0 to 0.171.0", end="`turn.completed`, `turn.failed`"
            ),
        ),
        Dialect(
            "codex-app-server",
            detect_app_server,
            AppServerDecoder,
            live=True,
            has_end=True,
            losses=(
                "patches that failed, unknown tools, bad arguments",
                "later prompts of sub-agents; with some models also their first prompts",
                "cost of a review, and the texts of its answers",
                "output of a command until its call returns, if it still runs then",
                "tokens written to a cache, before 0.171",
            ),
            deltas=(rb'"method":\s*"item/\w+/(?:\w+D|d)elta".*?"delta":' + DELTA_TEXT,),
            about=About(
                made_by="codex app-server (its notifications); AgentV's log of the SDK",
                versions="0.110.0, 0.142.5, 0.171.0",
                end="`turn/completed`",
            ),
        ),
        Dialect(
            "codex-rollout",
            detect_rollout,
            RolloutDecoder,
            live=False,
            has_end=True,
            losses=(
                "the text of an answer that was cut off",
                "retries",
                "in older versions: web searches; whether a call of an MCP server, or a turn without an answer, failed",
                "whether a call was refused or its turn interrupted: in the terminal these are the same",
                "arguments of calls inside scripts, as far as their items do not repeat them",
                "the order of calls that one script ran in parallel (it is that of their ends)",
            ),
            about=About(
                made_by="every session",
                versions="0.42.0 to 0.171.0",
                end="`task_complete`, `turn_aborted`; in versions that write neither, a last answer with no open call",
            ),
        ),
        Dialect(
            "codex-exec-old",
            detect_old_exec,
            OldExecDecoder,
            live=True,
            has_end=False,
            losses=(
                _NO_TIMES,
                "the session's id",
                "the end of a run",
                "results of plans",
                "whether a line is repeated",
            ),
            about=About(
                made_by="codex exec --json PROMPT, first versions",
                versions="0.8.0 to 0.29.0",
                end="none; `task_complete` where it is printed",
            ),
        ),
        Dialect(
            "codex-rollout-old",
            detect_old_rollout,
            OldRolloutDecoder,
            live=False,
            has_end=False,
            losses=(
                "all times but the first",
                "the model's name and version",
                "tokens",
                "the end of a run",
                "whether a text is repeated",
            ),
            about=About(
                made_by="every session, first versions",
                end="none; complete when an answer came last and no call is open",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(
        ("codex", "exec", "--json", PROMPT),
        ("-m", MODEL),
        ("codex", "exec", "--json", "-"),
        kinds=("codex", "codex-cli", "codex-sdk", "codex-app-server"),
    ),
    aliases=("codex-cli", "codex-app-server", "codex-sdk"),
    roots=(
        LogRoot("~/.codex/sessions", "CODEX_HOME", "sessions", ("**/rollout-*.jsonl*",)),
        LogRoot("~/.codex/archived_sessions", "CODEX_HOME", "archived_sessions", ("**/rollout-*.jsonl*",)),
    ),
    companions=companions,
    history=history_of,
    titles=TitleIndex(title_index, titles),
)
