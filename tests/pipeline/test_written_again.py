"""Records that a log repeats, and ids that somebody replaced by one word: in every dialect, nothing is counted twice
or left out."""

from collections import Counter
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentv_stream.summary import SessionReader
from support.decoding import corpus
from support.log_laws import check_same, told
from support.mutating import Log as MadeLog
from support.mutating import changed_values, marked, written
from support.recorded_logs import FOLDERS, LARGEST, Log, chances, logs, run
from support.scenarios.dialects import WRITERS
from support.scenarios.writer import Writer

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
EXAMPLES = settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=SLOW)
NAMED = frozenset(
    (
        *("antigravity-stream", "antigravity-transcript", "claude-session", "claude-stream", "codex-rollout"),
        *("copilot-session", "copilot-stream", "droid-stream", "gemini-chat", "gemini-stream", "kiro-session"),
        *("opencode-stream", "pi-session", "pi-stream", "qwen-session", "qwen-stream"),
    )
)
"""Dialects whose records have ids or times of their own."""
IN_PIECES = frozenset(("copilot-stream", "pi-stream"))
"""Dialects with answers in pieces first and whole then: a stretch may end between them, as a stream that broke off."""
SPLIT = frozenset(("droid-stream",))
"""Dialects whose answers have no id that all their records share: a stretch within an answer splits it."""
WITHOUT = {
    "wild/claude-stream/10.jsonl": "an old version: its records have no ids, its total no time",
    "wild/codex-rollout/29.jsonl": "several threads in one file",
    "wild/copilot-cli/02.jsonl": "one word stands for all ids and times",
}
ALIKE = {
    "samples/claude-1.0.128/main.jsonl": "answers without a request have prompts of equal size, with results between",
    "samples/claude-2.1.329/main.jsonl": "two answers without a request are equal, and their prompts of equal size",
    **dict.fromkeys((f"samples/claude-2.1.80/{n}.jsonl" for n in ("main", "maxturns")), "as claude-1.0.128"),
    "new-agents/kiro-cli/1-2_session-end.2026-06-05.session.jsonl": "two answers are equal, and have no time",
    "new-agents/amp-stream/two-plus-two.jsonl": "without its ids it is Claude's",
    "wild/claude-session/20.jsonl": "no answer says its tokens, and no result stands between them",
}
"""Recordings of a scripted model, in which nothing but the id tells two answers from one."""


def figures(log: Log, data: bytes) -> Any:
    """What must not change."""
    reader = SessionReader([data], str(corpus("clients").parent / log.name), log.provider.name)
    for _ in reader.batches(companions=False):
        pass
    result = reader.result()
    use = result.tool_use_summary
    return use["turns"], use["total_tool_calls"], result.tokens["input"], result.tokens["output"]


@EXAMPLES
@given(choice=st.data())
@pytest.mark.parametrize(
    "writer",
    [w for w in WRITERS.values() if w.lines and w.dialect not in SPLIT],
    ids=lambda w: w.name or w.dialect,
)
def test_stretches_written_again_with_new_answers_between_count_once(writer: Writer, choice: st.DataObject) -> None:
    log = written(writer, marked(choice.draw(writer.sessions)))
    if log is None or not log.lines:
        return
    base, chance = told(log), Random(choice.draw(st.integers(0, 1000)))
    records = list(log.records)
    for _ in range(chance.choice((1, 2, 5))):
        insert_again(log, records, chance)
    check_same(base, told(log._replace(records=records)))


def insert_again(log: MadeLog, records: list[bytes], chance: Random) -> None:
    """Puts records of a stretch into the log again, somewhere behind it: those that are known by an id or a time."""
    first = chance.randrange(len(log.records))
    stretch = log.records[first : first + chance.randint(1, len(log.records))]
    last = max(n for n, record in enumerate(records) if record == stretch[-1])
    at = chance.choice((last + 1, len(records), chance.randint(last + 1, len(records))))
    while at < len(records) and not all(map(log.named, records[max(0, at - 1) : at])):
        at += 1  # what comes in pieces goes on behind what came again
    records[at:at] = [record for record in stretch if log.named(record)]


@pytest.fixture(scope="module")
def recorded() -> list[Log]:
    return list(logs(LARGEST, (*FOLDERS, "features", "new-agents", "otlp")))


def test_recordings_that_are_appended_to_themselves_count_once(recorded: list[Log]) -> None:
    wrong: dict[str, Any] = {}
    seen = Counter[str]()
    for log in recorded:
        if log.dialect.name not in NAMED or log.name in WITHOUT or not is_lines(log.data):
            continue
        data = log.data if log.data.endswith(b"\n") else log.data + b"\n"
        lines = data.splitlines(keepends=True)
        (chance,) = list(chances(log, "again"))[:1]
        begin = chance.randrange(len(lines))
        part = b"".join(lines[begin : begin + chance.randint(1, len(lines))])
        for more in (data, data + part + data, *(() if log.dialect.name in IN_PIECES else (part,))):
            one, other = (figures(log, given) for given in (data, data + more))
            if one != other:
                wrong[log.name] = one, other
        seen[log.dialect.name] += 1
    assert seen.keys() == NAMED
    assert not wrong


def test_one_word_in_the_place_of_all_ids_of_messages_changes_no_figure(recorded: list[Log]) -> None:
    wrong: dict[str, Any] = {}
    for log in recorded:
        if log.name in ALIKE:
            continue
        calls = {call_id for event in run(log, [log.data]).events if (call_id := getattr(event, "call_id", None))}
        records = log.data.split(b"\n") if is_lines(log.data) else [log.data]
        changed = b"\n".join(changed_values(records, partial(one_word, calls)))
        one, other = (figures(log, given) for given in (log.data, changed))
        if one != other:
            wrong[log.name] = one, other
    assert not wrong


def is_lines(data: bytes) -> bool:
    """Whether each record has its line; else it is one document over many."""
    first = data.lstrip().partition(b"\n")[0].strip()
    return first[:1] == b"{" and first[-1:] == b"}"


MESSAGE_IDS = frozenset(("messageid", "message_id", "responseid", "response_id"))
MADE_BY_SERVERS = ("msg", "resp", "chatcmpl", "gen-")


def one_word(calls: set[str], name: str, value: Any) -> Any:
    """REDACTED, if the value is the id of a message."""
    if not isinstance(value, str) or value in calls:
        return value
    found = name.lower() in MESSAGE_IDS or (name == "id" and value.startswith(MADE_BY_SERVERS))
    return "REDACTED" if found else value
