"""Names of outputs: whatever a session id or target holds, the file lies in its folder under a plain name."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentv_stream.outputs.naming import free_name, log_folder, prepare_folder, safe_part, stem


@given(st.text(max_size=300))
def test_any_text_is_one_safe_part(text: str) -> None:
    part = safe_part(text)
    assert part
    assert len(part) <= 80
    assert part.isascii()
    assert part.isprintable()
    assert not set(part) & set("/\\: \n\x00")
    assert not part.startswith((".", "-"))


def test_parts_stay_readable() -> None:
    assert safe_part("../../x") == "x"
    assert safe_part("openai/gpt-5.1 codex") == "openai-gpt-5.1-codex"
    assert safe_part("\x00\x1b") == safe_part("") == safe_part("..") == "unnamed"


def test_a_name_is_time_target_case_and_attempt() -> None:
    assert stem(1_769_851_800_250, "claude", "s") == "2026-01-31T09-30-00-250Z_claude_s"
    assert stem(1_769_851_800_250, "claude", "s", 2) == "2026-01-31T09-30-00-250Z_claude_s_2"
    assert log_folder(None, "claude") == Path(".agentv/logs/claude")


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    for n in ("", "-2", "-3"):
        (tmp_path / f"x{n}.jsonl").write_bytes(b"")
    assert free_name(tmp_path, "x", ".jsonl").name == "x-4.jsonl"


def test_only_a_new_agentv_folder_gets_a_gitignore(tmp_path: Path) -> None:
    prepare_folder(tmp_path / "a" / ".agentv" / "logs" / "claude")
    assert (tmp_path / "a" / ".agentv" / ".gitignore").read_text() == "*\n"
    (tmp_path / "b" / ".agentv").mkdir(parents=True)
    prepare_folder(tmp_path / "b" / ".agentv" / "logs")
    prepare_folder(tmp_path / "c" / "logs")
    assert not list((tmp_path / "b").rglob(".gitignore"))
    assert not list((tmp_path / "c").rglob(".gitignore"))


def test_every_folder_that_is_made_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / ".agentv" / "logs" / "claude"
    before = os.umask(0)
    try:
        prepare_folder(folder)
    finally:
        os.umask(before)
    assert {oct(made.stat().st_mode & 0o777) for made in tmp_path.rglob("*") if made.is_dir()} == {"0o700"}


@pytest.mark.parametrize(
    ("started_ms", "when"),
    [
        (-62_135_596_800_000, "0001-01-01T00-00-00-000Z"),
        (-1, "1969-12-31T23-59-59-999Z"),
        (10**15, "9999-12-31T23-59-59-999Z"),  # a file's time, where the file system has room for it
    ],
)
def test_any_start_gives_a_name_that_sorts(started_ms: int, when: str) -> None:
    assert stem(started_ms, "t", "c") == f"{when}_t_c"


def test_a_file_where_a_folder_should_be_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match="Not a directory"):
        prepare_folder(tmp_path / "file")
