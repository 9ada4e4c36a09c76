"""The file system as providers see it."""

from pathlib import Path

from agentv_stages.providers import get_provider
from agentv_stream.bulk.listing import RememberingFolder
from agentv_stream.folder import LocalFolder, companions_of

SESSION = "0f3c2a10-5b7e-4c1d-9a61-2d5e8f9b7c01"


def test_folders_with_glob_signs_in_their_names_are_taken_literally(tmp_path: Path) -> None:
    project = tmp_path / "a [draft] of mine?"
    agents = project / SESSION / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-1.jsonl").write_bytes(b"{}\n")
    main = project / f"{SESSION}.jsonl"
    main.write_bytes(b"{}\n")
    found = companions_of(get_provider("claude"), str(main))
    assert [companion.path for companion in found] == [str(agents / "agent-1.jsonl")]
    assert found[0].context.stream == "sidechain:1"


def test_the_remembering_folder_finds_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "x[1]"
    folder.mkdir()
    for name in ("agent-b.jsonl", "agent-a.jsonl", "other.txt"):
        (folder / name).write_bytes(b"")
    pattern = f"{folder}/agent-*.jsonl"
    expected = [f"{folder}/agent-a.jsonl", f"{folder}/agent-b.jsonl"]
    assert LocalFolder().glob(pattern) == expected
    assert RememberingFolder().glob(pattern) == expected


def test_a_file_that_has_gone_is_empty(tmp_path: Path) -> None:
    assert LocalFolder().read(str(tmp_path / "gone"), 10) == b""
