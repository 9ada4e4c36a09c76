import fnmatch
import json
from collections.abc import Callable
from typing import Any

from agentv_stages.model.provider import Companion, Kept
from agentv_stages.providers import get_provider
from agentv_stages.providers.codex import PROVIDER
from agentv_stages.providers.codex.companions import companions

DAY = "/h/.codex/sessions/2026/03/01"


class Memory:
    """A folder in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def glob(self, pattern: str) -> list[str]:
        return sorted(path for path in self.files if fnmatch.fnmatchcase(path, pattern))

    def read(self, path: str, limit: int) -> bytes:
        return self.files.get(path, b"")[:limit]

    def remembered(self, key: str, make: Callable[[], Kept]) -> Kept:
        return make()


def rollout(name: str, *rows: dict[str, Any]) -> tuple[str, bytes]:
    return f"{DAY}/rollout-{name}.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def meta(thread: str, time: str = "2026-03-01T10:00:00.000Z", **more: Any) -> dict[str, Any]:
    return {"timestamp": time, "type": "session_meta", "payload": {"id": thread, "cwd": "/w", **more}}


def child(thread: str, parent: str, **names: str) -> dict[str, Any]:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1, **names}}}
    return meta(thread, parent_thread_id=parent, source=source)


def found(*files: tuple[str, bytes]) -> list[Companion]:
    return companions(files[0][0], Memory(dict(files)))


def test_children_and_their_children_belong_to_the_root() -> None:
    spawned = {
        "type": "event_msg",
        "payload": {
            "type": "item_completed",
            "item": {"type": "SubAgentActivity", "kind": "started", "id": "c1", "agent_thread_id": "k1"},
        },
    }
    files = (
        rollout("1", meta("root"), spawned),
        rollout("2", child("k1", "root", agent_path="/root/reader")),
        rollout("3", child("k2", "k1", agent_nickname="Kepler")),
        rollout("4", child("x", "other")),
        rollout("5", meta("else")),
    )
    got = found(*files)
    assert [(c.context.stream, c.context.parent_call, c.context.session_id) for c in got] == [
        ("subagent:/root/reader", "c1", "root"),
        ("subagent:Kepler", None, "root"),
    ]
    assert [c.path[-7:-6] for c in got] == ["2", "3"]


def test_the_call_is_found_in_the_spawning_calls_output_too() -> None:
    output = {
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c9", "output": '{"agent_id":"k1","nickname":"N"}'},
    }
    got = found(rollout("1", meta("root"), output), rollout("2", child("k1", "root", agent_nickname="N")))
    assert [c.context.parent_call for c in got] == ["c9"]


def test_a_child_has_no_companions_and_a_stranger_none_either() -> None:
    assert found(rollout("2", child("k1", "root")), rollout("3", child("k2", "k1"))) == []
    assert found(rollout("1", {"type": "message"})) == []


def test_a_review_began_next_to_when_its_parent_entered_review_mode_and_before_it_left() -> None:
    """On a busy machine the review's file is dated 370 ms before (0.130), or 5.2 s behind (0.90)."""

    def mode(kind: str, second: str) -> dict[str, Any]:
        return {"timestamp": f"2026-03-01T10:00:{second}Z", "type": "event_msg", "payload": {"type": kind}}

    def review(name: str, second: str, folder: str = "/w") -> tuple[str, bytes]:
        header = meta(f"r{name}", f"2026-03-01T10:00:{second}Z", source={"subagent": "review"})
        header["payload"]["cwd"] = folder
        return rollout(name, header)

    twice = [mode(f"{what}_review_mode", second) for what, second in (("entered", "05.000"), ("exited", "08.000"))]
    twice += [mode("entered_review_mode", "20.000")]
    got = found(
        rollout("1", meta("root"), *twice),
        review("2", "04.630"),
        review("3", "05.010", "/elsewhere"),
        review("4", "06.000"),
        review("5", "12.000"),
        review("6", "25.200"),
        review("7", "31.000"),
    )
    assert [(c.path[-7:-6], c.context.stream) for c in got] == [("2", "subagent:review"), ("6", "subagent:review")]


def test_the_first_file_of_a_rewound_thread_takes_along_the_others_and_all_that_they_began() -> None:
    def at(second: int) -> str:
        return f"2026-03-01T10:00:{second:02}.000Z"

    early, late = child("k1", "root", agent_path="/early"), child("k2", "root", agent_path="/late")
    files = {
        "1-root": meta("root", at(0)),
        "2": early | {"timestamp": at(5)},
        "3-root_b": meta("root", at(10), history_base={"thread_id": "root", "end_ordinal_exclusive": 2}),
        "4": late | {"timestamp": at(15)},
        "5": child("k3", "k1", agent_path="/early/child") | {"timestamp": at(16)},
        "6-root_c": meta("root", at(20)),
        "7-other_d": meta("root", at(30)),  # named after another thread
    }
    folder = Memory(dict(rollout(name, head) for name, head in files.items()))
    folder.files[f"{DAY}/rollout-6-root_c.jsonl.gz"] = folder.files[f"{DAY}/rollout-6-root_c.jsonl"]
    other_day = DAY.replace("/01", "/02") + "/rollout-8-root_e.jsonl"
    folder.files[other_day] = folder.files[f"{DAY}/rollout-1-root.jsonl"].replace(b"10:00:00", b"10:00:40")
    found = {part: companions(f"{DAY}/rollout-{part}.jsonl", folder) for part in ("1-root", "3-root_b", "6-root_c")}
    streams = {part: [c.context.stream for c in got if not c.context.further] for part, got in found.items()}
    assert streams == {
        "1-root": ["subagent:/early", "subagent:/late", "subagent:/early/child"],
        "3-root_b": ["subagent:/late"],
        "6-root_c": [],
    }
    further = {part: [c.path for c in got if c.context.further] for part, got in found.items()}
    here = [f"{DAY}/rollout-{name}.jsonl" for name in ("3-root_b", "6-root_c")]
    assert further == {"1-root": [*here, other_day], "3-root_b": [], "6-root_c": []}


def test_text_inside_the_first_line_cannot_name_a_parent() -> None:
    forged = meta("m", instructions='"parent_thread_id":"root"')
    assert found(rollout("1", meta("root")), rollout("2", forged)) == []


def test_agentvs_names_mean_this_provider() -> None:
    assert {get_provider(name).name for name in ("codex", *PROVIDER.aliases)} == {"codex"}
