"""The `result` line of Claude Code's stream: the end of a run, and the session's usage so far.

Source: Claude Code 1.0.128 to 2.1.332. A stream with several of them is of a resumed session, or has several runs in
one file.
"""

from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AssistantText, SessionEnd, SessionInfo, Source, Status, TokenUsage
from agentv_stages.model.repeats import checksum
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.claude.notices import short, short_errors
from agentv_stages.providers.claude.stream_state import StreamState
from agentv_stages.providers.claude.usage import less, model_shares, more, session_usage, token_usage
from agentv_stages.providers.claude.wire import ModelUsage, ResultLine, Usage

ABORTED = ("aborted_streaming", "aborted_tools")


def emit_result(line: ResultLine, source: Source, record: Record, state: StreamState, batch: Batch) -> None:
    """Appends the run's usage, its answer if nothing else was printed, and how it ended."""
    again = state.results.again(line.uuid, checksum(record.data))  # still an end, perhaps of a repeated log
    key = line.uuid or f"result{record.row}"
    cost = None
    if not again:
        cost = _tell_spent(line, source, state, batch)
        state.behind, state.begun = max(state.behind + state.begun - 1, 0), 0
    if not again and line.usage is not None and (line.usage.input_tokens or line.usage.output_tokens):
        usage = token_usage(source, key, line.usage, None, True)
        # This usage is of the main thread alone, so it covers the whole run only if there is no total.
        part, scope = ("-main", "share") if line.modelUsage else ("", "segment")
        batch.events.append(replace(usage, part=part, scope=scope))
    if record.row == 0 and len(line.result) > 2 and bytes(line.result)[:1] == b'"':
        # `--output-format json` prints nothing else, so the answer is only here
        batch.events.append(AssistantText(source, "-result", key, line.result, False, bool(line.is_error)))
    status, reason = _end_of(line, state.interrupted)
    duration = None if again else whole_ms(line.duration_ms)
    turns = None if again else line.num_turns
    batch.events.append(SessionEnd(source, "", status, reason, cost, duration, turns, Raw(record.data)))


def _tell_spent(line: ResultLine, source: Source, state: StreamState, batch: Batch) -> float | None:
    """Appends the session's tokens so far, by model and in total; returns its cost."""
    cost = line.total_cost_usd if line.total_cost_usd is not None else line.cost_usd
    if not line.modelUsage:
        return cost
    window = max((m.context_window or 0 for m in line.modelUsage.values()), default=0)
    if window:
        batch.events.append(SessionInfo(source, "", context_window=window))
    spent = session_usage(source, line.modelUsage, cost)
    anew, whole = state.anew, state.whole
    first, state.anew, state.whole = line.result_index == 0 or anew, False, spent
    if first and line.model_usage_since_last_result is not None:
        since = line.model_usage_since_last_result
        own = session_usage(source, since, _cost(since))
        state.earlier = less(spent, own) if spent.input != own.input else None
    elif anew and whole is not None and _goes_on(spent, whole, line):
        state.earlier = whole
    if state.earlier is not None:
        spent = less(spent, state.earlier)
        cost = spent.cost_usd
    else:
        batch.events.extend(model_shares(source, line.modelUsage))
    _note_run(spent, line, state)
    if state.before is not None:
        spent = more(spent, state.before)
        cost = spent.cost_usd
    batch.events.append(spent)
    return cost


def _end_of(line: ResultLine, interrupted: bool) -> tuple[Status, str | None]:
    """How the run ended, and why. Older versions (2.1.50) give no reason for the end of an `interrupted` run."""
    reason = line.terminal_reason or line.subtype or None
    if line.terminal_reason in ABORTED or (interrupted and reason == "error_during_execution"):
        return "interrupted", reason
    if not line.is_error and line.subtype in ("success", ""):
        return "complete", reason
    words = short(line.result) or short_errors(line.errors)
    return "error", f"{reason}: {words}" if words else reason


def _note_run(spent: TokenUsage, line: ResultLine, state: StreamState) -> None:
    """Stores the session's usage so far, and detects whether the result belongs to another run than the last result.

    A further run of the session, appended to the same file, counts from zero; a later result of the same process
    includes the usage of the earlier results. A process whose background tasks are still ending begins new runs before
    it prints the results of earlier ones. All these results have the total of the moment when they are printed
    (2.1.220), so that later ones may add nothing.
    """
    last = state.last_total
    state.last_total = spent
    if last is None:
        return
    if line.result_index is not None:
        fresh = line.result_index == 0
    elif state.behind:
        fresh = (spent.input or 0) < (last.input or 0)
    else:
        own = token_usage(spent.source, "", line.usage or Usage(), None, True).input
        fresh = (spent.input or 0) < (last.input or 0) + (own or 0) // 2
    if fresh:
        state.behind, state.begun = 0, 1
        state.before = last if state.before is None else more(state.before, last)


def _goes_on(spent: TokenUsage, whole: TokenUsage, line: ResultLine) -> bool:
    """Whether the first total of another session includes the last one of the session before: then `/clear` changed the
    session, and not its totals (2.1.120).
    """
    own = token_usage(spent.source, "", line.usage or Usage(), None, True)
    before = (spent.input or 0) - (own.input or 0), (spent.output or 0) - (own.output or 0)
    return before == (whole.input, whole.output)


def _cost(by_model: dict[str, ModelUsage]) -> float | None:
    known = [m.cost_usd for m in by_model.values() if m.cost_usd is not None]
    return sum(known) if known else None
