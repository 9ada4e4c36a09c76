"""The decoders against recordings: what the scripted model asked for, and logs from public repositories."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import SUFFIXES, AnyEvent, SessionInfo
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.codex import PROVIDER
from support.decoding import (
    asked_calls,
    best,
    calls,
    check_laws,
    corpus,
    dialect,
    read,
    records,
    results,
    said,
    texts,
    total,
    usages,
)

CLIENTS = ("codex", "codex_classic")
# Cut by its reader: the last line is torn, and the log on disk goes on.
CUT = {"s6_pipe"}
# Their stream shows no failed patch, no unknown tool, no sub-agent, no `wait`.
LOST_IN_STREAM = {"s2", "s4", "s14", "r1", "r2"}


def decoded(path: Path) -> Batch:
    data = read(path)
    given = records(data)
    name, score = best(PROVIDER, [r for r in given[:8] if r.data.endswith(b"}")])
    assert score == 1.0
    stage = Decode(dialect(PROVIDER, name), DecodeContext(str(path)))
    batch = Batch(str(path), records=given, unterminated=not data.endswith(b"\n"))
    stage.push(batch)
    for rest in stage.flush():
        batch.events.extend(rest.events)
    return batch


def scenarios() -> list[tuple[str, str]]:
    names = "r1 r2 s1 s2 s3 s4 s5 s5b s5c s6_pipe s6_sigint s6_sigint_tool s6_sigkill s6_sigkill_tool s6_sigterm"
    more = "s7 s8 s9 s10a s12"
    both = [(client, name) for client in CLIENTS for name in (*names.split(), *more.split())]
    return [*both, ("codex", "s14")]


def truth(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "truth.json").read_bytes())
    return value


def logs(folder: Path) -> list[AnyEvent]:
    """The events of all threads."""
    events: list[AnyEvent] = []
    for path in sorted((folder / "home").rglob("rollout-*.jsonl")):
        batch = decoded(path)
        assert (batch.unknown, batch.faults) == ({}, [])
        ids = [c.call_id for c in calls(batch.events)]
        answered = [r.call_id for r in results(batch.events)]
        assert len(ids) == len(set(ids))
        assert len(answered) == len(set(answered))
        assert set(answered) <= set(ids)
        events += batch.events
    return events


@pytest.mark.parametrize(("client", "scenario"), scenarios())
def test_rollouts_hold_every_call_text_and_token(client: str, scenario: str) -> None:
    folder = corpus(f"clients/{client}") / scenario
    asked = truth(folder)
    events = logs(folder)
    assert len(calls(events)) == len(asked_calls(asked))
    assert sorted(texts(events)) == sorted(said(asked))
    if not asked["broken"]:
        want = {k: sum(t["tokens"][k] for t in asked["threads"].values()) for k in ("input", "cached", "output")}
        got = total(events)
        assert {k: got[k] for k in want} == want


@pytest.mark.parametrize(("client", "scenario"), [x for x in scenarios() if x[1] not in CUT | LOST_IN_STREAM])
def test_streams_hold_every_call_and_text(client: str, scenario: str) -> None:
    folder = corpus(f"clients/{client}") / scenario
    asked = truth(folder)
    batch = decoded(folder / "stream.jsonl")
    assert (batch.unknown, batch.faults) == ({}, [])
    assert len(calls(batch.events)) == len(asked_calls(asked, "main"))
    assert texts(batch.events) == said(asked, "main")
    for usage in usages(batch.events)[-1:]:
        tokens = asked["threads"]["main"]["tokens"]
        assert (usage.input, usage.cached, usage.output) == (tokens["input"], tokens["cached"], tokens["output"])


def test_a_stream_cut_by_its_reader_costs_only_its_torn_line() -> None:
    batch = decoded(corpus("clients/codex/s6_pipe") / "stream.jsonl")
    assert [f.reason for f in batch.faults] == ["torn"]
    assert batch.unknown == {}


@pytest.mark.parametrize("name", ["codex-exec", "codex-rollout", "codex-rollout-old"])
def test_logs_from_everywhere_decode_without_unknown_records_or_faults(name: str) -> None:
    for path in sorted(corpus(f"wild/{name}").iterdir()):
        batch = decoded(path)
        faults = {fault.reason for fault in batch.faults}
        several = {"foreign-record"} if (name, path.name) == ("codex-rollout", "29.jsonl") else set[str]()
        assert (path.name, batch.unknown, faults) == (path.name, {}, several)
        assert batch.events
        assert len(usages(batch.events)) == len({u.key for u in usages(batch.events)})


@pytest.mark.parametrize(
    ("sample", "input_tokens", "output_tokens"),
    [
        ("codex-0.50.0", 6400, 175),
        ("codex-0.80.0", 6400, 175),
        ("codex-0.120.0", 6400, 175),
        ("codex169", 6400, 175),
    ],
)
def test_versions_count_the_same_tokens(sample: str, input_tokens: int, output_tokens: int) -> None:
    for path in corpus(f"samples/{sample}").glob("*.jsonl"):
        events = decoded(path).events
        used = usages(events)
        assert sum(u.input or 0 for u in used) == input_tokens
        assert sum(u.output or 0 for u in used) == output_tokens


def test_event_ids_are_agtraces() -> None:
    folder = corpus("agtrace")
    events = decoded(folder / "samples" / "codex_session.jsonl").events
    (session,) = {e.session_id for e in events if isinstance(e, SessionInfo) and e.session_id}
    space = uuid.uuid5(uuid.NAMESPACE_OID, session)
    ids = {str(uuid.uuid5(space, f"{session}:row_{e.source.row}{e.part}:{SUFFIXES[type(e)]}")) for e in events}
    golden = json.loads((folder / "golden-events" / "codex_events.json").read_bytes())
    assert {e["id"] for e in golden} <= ids
    assert sum((u.input or 0) + (u.output or 0) for u in usages(events)) == 27_148


@pytest.mark.parametrize("scenario", ["s2", "s4", "s6_sigint_tool", "s7"])
def test_the_laws_hold_for_recordings(scenario: str) -> None:
    folder = corpus(f"clients/codex/{scenario}")
    for path in (folder / "stream.jsonl", *(folder / "home").rglob("rollout-*.jsonl")):
        given = records(read(path))
        check_laws(dialect(PROVIDER, best(PROVIDER, given)[0]), given)
