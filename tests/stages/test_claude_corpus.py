"""Claude's decoders against recordings: what the model asked for, call by call, text by text, token by token."""

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.figures.result import Result
from agentv_stages.model.event import AnyEvent, AssistantText, SessionEnd, ToolCall, ToolResult
from agentv_stages.sinks.event_lines import EventLines
from agentv_stream import summarize
from agentv_stream.summary import SessionReader, read_file
from support.decoding import asked_calls, check_laws, corpus, dialect, read, records

SCENARIOS = [
    *("r1", "r2", "s1", "s2", "s3", "s4", "s4b", "s5", "s5b", "s5c", "s7", "s8", "s9", "s10a", "s10b", "s10c"),
    *("s11", "s11b", "s11c", "s12", "s13", "s15", "s16", "s17"),
    *("s6_pipe", "s6_sigint", "s6_sigint_tool", "s6_sigkill", "s6_sigkill_tool", "s6_sigterm"),
]
RESUMED = {"s10b": ("s10a",), "s11b": ("s10a", "s10b")}  # their log on disk holds the first part too
CUT = {"s6_pipe"}  # the stream lost its reader, the session went on
ENDED_FROM_OUTSIDE = {name for name in SCENARIOS if name.startswith("s6_")}


def truth(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "truth.json").read_bytes())
    return value


@cache
def told(path: str) -> tuple[list[AnyEvent], Result]:
    reader = SessionReader(read_file(path), path)
    events = [event for batch in reader.batches() for event in batch.events]
    return events, reader.result()


def log(scenario: str, form: str) -> Path:
    folder = corpus(f"clients/claude/{scenario}")
    if form == "stream":
        return folder / "stream.jsonl"
    (path,) = (folder / "home").glob(".claude/projects/*/*.jsonl")
    return path


def main_calls(events: list[AnyEvent]) -> list[ToolCall]:
    return [e for e in events if isinstance(e, ToolCall) and e.source.stream == "main"]


def whole_texts(events: list[AnyEvent], stream: str = "main") -> list[str]:
    """The texts of answers, block after block of one message joined."""
    said: dict[str, str] = {}
    for e in events:
        if isinstance(e, AssistantText) and e.source.stream == stream and not e.synthetic:
            said[e.message_id] = said.get(e.message_id, "") + e.text
    return [text for text in said.values() if text.strip()]


FORMS = [(s, f) for s in SCENARIOS for f in ("stream", "disk")]


@pytest.mark.parametrize(("scenario", "form"), FORMS)
def test_every_call_is_there_once_by_its_name_and_in_order(scenario: str, form: str) -> None:
    events, result = told(str(log(scenario, form)))
    asked = truth(log(scenario, "stream").parent)
    main = next((name for name in ("main", "part2") if name in asked["threads"]), None)
    want = asked_calls(asked, main) if main else []
    if scenario in RESUMED and form == "disk":
        earlier = [call for name in RESUMED[scenario] for call in asked_calls(truth(corpus("clients/claude") / name))]
        want = [*earlier, *want]
    got = main_calls(events)
    if scenario in CUT and form == "stream":
        want = want[: len(got)]
    assert [c.name for c in got] == [c["native"] for c in want]
    assert [c.tool for c in got] == [c["tool"] or c["native"] for c in want]
    assert [c.kind for c in got if c.kind] == [w["kind"] or c.kind for c, w in zip(got, want, strict=True)]
    for call, given in zip(got, want, strict=True):
        sent: dict[str, Any] = call.input if bytes(call.input_json)[:1] == b"{" else {}
        for key, value in given["args"].items():
            if isinstance(value, str) and key in sent:
                assert sent[key] == value
    if scenario not in CUT:
        subs = [n for n in asked["threads"] if n != main]
        total = len(want) + len(asked_calls(asked, *subs) if subs else [])
        assert result.tool_use_summary["total_tool_calls"] == total
    assert result.unknown == {}


@pytest.mark.parametrize(("scenario", "form"), FORMS)
def test_every_text_is_there_once(scenario: str, form: str) -> None:
    if scenario in RESUMED or scenario in CUT:
        pytest.skip("the other part stands in the other log")
    events, _ = told(str(log(scenario, form)))
    answers = truth(log(scenario, "stream").parent)["threads"]["main"]["answers"]
    said = whole_texts(events)
    for answer in answers:
        if answer.get("broken") or not answer["text"].strip():
            continue
        assert said.count(answer["text"]) == [a["text"] for a in answers if not a.get("broken")].count(answer["text"])


@pytest.mark.parametrize(("scenario", "form"), FORMS)
def test_tokens_are_what_the_server_returned(scenario: str, form: str) -> None:
    asked = truth(log(scenario, "stream").parent)
    if scenario in ENDED_FROM_OUTSIDE or scenario in RESUMED or asked["broken"]:
        pytest.skip("the totals never came, or stand in another log")
    _, result = told(str(log(scenario, form)))
    threads = [thread["tokens"] for thread in asked["threads"].values()]
    side = asked["side_tokens"]
    plain = {key: sum(t[key] for t in threads) for key in ("input", "output")}
    with_side = {key: plain[key] + side[key] for key in plain}
    assert {key: result.tokens[key] for key in plain} in (plain, with_side)


@pytest.mark.parametrize(("scenario", "form"), FORMS)
def test_every_result_belongs_to_a_call_and_ids_are_unique(scenario: str, form: str) -> None:
    events, result = told(str(log(scenario, form)))
    results = [e for e in events if isinstance(e, ToolResult)]
    assert all(r.call is not None for r in results)
    final = [r.call_id for r in results if not r.partial]
    assert len(final) == len(set(final))
    lines = EventLines("s")
    ids = [lines.value(e)["id"] for e in events]
    assert len(ids) == len(set(ids))
    assert sum(result.tool_use_summary["by_outcome"].values()) == result.tool_use_summary["total_tool_calls"]


OUTCOMES = {
    "s2": {"denied": 0},
    "s6_sigint_tool": {"cancelled": 1},
    "s6_sigkill_tool": {"unpaired": 1},
    "s15": {"denied": 1},
    "s17": {"denied": 1},
}


@pytest.mark.parametrize("form", ["stream", "disk"])
@pytest.mark.parametrize("scenario", sorted(OUTCOMES))
def test_outcomes_are_told_apart(scenario: str, form: str) -> None:
    by_outcome = told(str(log(scenario, form)))[1].tool_use_summary["by_outcome"]
    for name, least in OUTCOMES[scenario].items():
        assert by_outcome[name] >= least


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_both_logs_of_a_run_give_the_same_figures(scenario: str) -> None:
    if scenario in {*RESUMED, *CUT}:
        pytest.skip("the logs are of different lengths")
    live, disk = (told(str(log(scenario, form)))[1].tool_use_summary for form in ("stream", "disk"))
    keys = ["by_tool", "by_kind", "tool_sequence", "first_edit_turn", "by_origin"]
    # An answer that was broken off from outside is printed, and is in no log.
    for key in (*keys, "turns") if scenario not in ENDED_FROM_OUTSIDE else keys:
        assert live[key] == disk[key], key


STATUS = {
    "s1": "complete", "s2": "complete", "s5b": "error", "s6_pipe": "incomplete", "s6_sigint": "interrupted",
    "s6_sigint_tool": "interrupted",
    "s6_sigkill": "incomplete", "s6_sigkill_tool": "incomplete", "s6_sigterm": "incomplete",
}  # fmt: skip


@pytest.mark.parametrize(("scenario", "status"), sorted(STATUS.items()))
def test_streams_say_how_they_ended(scenario: str, status: str) -> None:
    assert told(str(log(scenario, "stream")))[1].status == status


def test_a_stream_that_lost_its_reader_costs_only_its_torn_line() -> None:
    assert told(str(log("s6_pipe", "stream")))[1].faults == {"torn": 1}


@pytest.mark.parametrize(
    ("sample", "given", "output", "read_", "written", "turns"),
    [
        ("claude-1.0.128", 100, 500, 7_000, 3_000, 17),
        ("claude-2.1.80", 70, 350, 4_900, 2_100, 7),
        ("claude-2.1.329", 80, 400, 5_600, 2_400, None),
    ],
)
def test_totals_of_other_versions(
    sample: str, given: int, output: int, read_: int, written: int, turns: int | None
) -> None:
    """The helper model's calls are in the total of 1.0.128, as the agent itself counts them."""
    events, result = told(str(corpus(f"samples/{sample}") / "main.jsonl"))
    tokens = result.tokens
    assert tokens["output"] == output
    assert tokens["input"] == given + tokens["cached"] + tokens["cache_write"]
    if sample != "claude-1.0.128":
        assert (tokens["cached"], tokens["cache_write"]) == (read_, written)
    if turns is not None:
        assert result.agent_num_turns == turns
    assert len([e for e in events if isinstance(e, SessionEnd)]) == (2 if sample == "claude-2.1.329" else 1)


@pytest.mark.parametrize("name", ["err400", "err529", "maxturns", "json"])
@pytest.mark.parametrize("version", ["claude-2.1.80", "claude-2.1.329"])
def test_failed_runs_say_so(version: str, name: str) -> None:
    result = told(str(corpus(f"samples/{version}") / f"{name}.jsonl"))[1]
    # The second 529 was followed by an answer.
    assert result.status == ("complete" if name in ("json", "err529") else "error")
    assert (result.unknown, result.faults) == ({}, {})


def test_agtraces_session_has_its_tokens_and_its_ids() -> None:
    folder = corpus("agtrace")
    events, result = told(str(folder / "samples" / "claude_session.jsonl"))
    # Of one answer only a placeholder stands in the log: the sum is a lower bound.
    assert result.tokens["output"] is None
    assert result.tokens["input"] + result.tokens["output_at_least"] == 99_629
    lines = EventLines(result.session.id or "")
    ids = {str(lines.value(e)["id"]) for e in events}
    golden = json.loads((folder / "golden-events" / "claude_events.json").read_bytes())
    missing = [e for e in golden if e["id"] not in ids]
    # Repeated usage is told once here, and a slash command is no user text.
    assert [e["type"] for e in missing] == ["token_usage", "token_usage", "user"]
    assert "<command-name>/exit" in missing[-1]["content"]["text"]


@cache
def derived() -> list[dict[str, str]]:
    with (corpus("bobbin") / "derived.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_bobbins_recordings_count_as_they_were_counted_independently() -> None:
    rows = derived()
    assert len(rows) == 35
    for row in rows:
        events, result = told(str(corpus("bobbin") / row["stream"]))
        summary = result.tool_use_summary
        name = row["stream"]
        assert (name, summary["turns"]) == (name, int(row["main_messages"]))
        assert (name, len(summary["tool_sequence"])) == (name, int(row["tool_calls_main"]))
        assert (name, summary["total_tool_calls"]) == (name, int(row["tool_calls_main"]) + int(row["tool_calls_sub"]))
        assert (name, summary["by_outcome"]["unpaired"]) == (name, int(row["unanswered_calls"]))
        assert (name, len(summary["bobbin_commands"])) == (name, int(row["bobbin_command_position"]))
        for key, column, plus in (
            ("first_edit_turn", "first_edit_message_index", 1),
            ("first_edit_turn_lines", "first_edit_line_index", 0),
            ("first_edit_tool_index", "first_edit_call_index", 0),
        ):
            want = int(row[column]) + plus if row[column] else None
            assert (name, key, summary[key]) == (name, key, want)
        if row["cost_usd"]:  # of several results: cumulative, the last one holds
            assert result.cost_usd == pytest.approx(float(row["cost_usd"].rpartition("/")[2]), abs=1e-6)
        if row["num_turns"]:  # per segment
            assert (name, result.agent_num_turns) == (name, sum(map(int, row["num_turns"].split("/"))))
        assert (name, result.unknown, result.faults) == (name, {}, {})
        assert events


SEVERAL_RUNS = ("01.jsonl", "11.jsonl", "15.jsonl")


@pytest.mark.parametrize("folder", ["claude-stream", "claude-stream-array", "claude-session"])
def test_logs_from_everywhere_decode_without_unknown_records(folder: str) -> None:
    for path in sorted(corpus(f"wild/{folder}").iterdir()):
        result = summarize(path, subagents=False)
        foreign = {"(no type)": 1} if path.name == "26.jsonl" and folder == "claude-session" else {}  # {"silly":"this"}
        assert (path.name, result.unknown) == (path.name, foreign)
        assert set(result.faults) <= {"orphan-result", "not-object", "schema", "foreign-record"}, path.name
        # loops that wrote several runs to one file
        assert ("foreign-record" in result.faults) == (folder == "claude-stream" and path.name in SEVERAL_RUNS)


@pytest.mark.parametrize("scenario", ["s2", "s4b", "s9", "s10c"])
def test_the_laws_hold_for_recordings(scenario: str) -> None:
    from agentv_stages.providers.claude import PROVIDER

    for form, name in (("stream", "claude-stream"), ("disk", "claude-session")):
        given = records(read(log(scenario, form)))
        assert msgspec.json.decode(given[0].data)
        check_laws(dialect(PROVIDER, name), given[:120])
