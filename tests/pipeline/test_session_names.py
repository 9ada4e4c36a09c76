"""A session has one name, whichever command reads its log."""

import json
from pathlib import Path

import pytest

from agentv_stream import import_sessions
from agentv_stream.outputs.session_name import stand_in_id
from support.consumed_and_followed import both, transcripts
from support.consuming import run


def source_of(row: bytes) -> dict[str, object]:
    source: dict[str, object] = json.loads(row)["source"]
    return source


@pytest.mark.parametrize("name", ["run.jsonl", "two words & more.jsonl", "run.2.jsonl"])
def test_a_log_without_an_id_has_one_name_in_every_command(name: str, tmp_path: Path) -> None:
    log = tmp_path / name
    items = [{"id": f"item_{n}", "type": "agent_message", "text": f"answer {n}"} for n in range(2)]
    records = [{"type": "turn.started"}, *({"type": "item.completed", "item": item} for item in items)]
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    read = both(str(log), tmp_path / "both")
    import_sessions([log], transcripts=tmp_path / "imported", engine="serial")
    found = [*read.consumed.values(), *read.followed.values(), *transcripts(tmp_path / "imported").values()]
    rows = [path.read_bytes().splitlines()[0] for path in found]
    rows.append(run(tmp_path, "show", log, "--json").out.splitlines()[0])
    assert len(rows) == 4
    assert [source_of(row) for row in rows] == [source_of(rows[0])] * 4
    assert source_of(rows[0])["session_id"] == stand_in_id(str(log))
    assert {json.loads(row)["test_id"] for row in rows} == {stand_in_id(str(log))}


def test_the_name_of_a_log_in_a_store_does_not_depend_on_the_folder_that_it_is_read_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: set[str] = set()
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        monkeypatch.chdir(folder)
        names.add(stand_in_id("s3://logs/2026/run.jsonl"))
    (name,) = names
    assert name.startswith("unknown-run-")
    assert name != stand_in_id("s3://logs/2027/run.jsonl")
