"""What commands say to people: one way for all, and nothing in it acts on the terminal."""

from pathlib import Path

import pytest

from support.consuming import run


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "\x1b[31m"),
        ("show", "x", "--provider", "\x1b[31m"),
        ("sessions", "--provider", "\x1b[31m"),
        ("tools", "--provider", "\x1b[31m"),
        ("providers", "--provider", "\x1b[31m"),
        ("faults", "list", "\x1b[31m"),
        ("faults", "show", "\x1b[31m:1"),
        ("cursors", "show", "x", "--state", "\x1b[31m"),
        ("stats", "\x1b[31m"),
        ("check", "\x1b[31m", "x"),
        ("consume", "\x1b[31m"),
        ("report", "\x1b[31m"),
        ("schema", "\x1b[31m"),
    ],
)
def test_what_was_typed_cannot_act_on_the_terminal(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = run(tmp_path, *arguments)
    assert ran.code in (2, 4)
    assert "agentv-stream: " in ran.err
    assert "\\x1b[31m" in ran.err
    assert "\x1b" not in ran.err


@pytest.mark.parametrize(
    "arguments",
    [("check", "s.yaml", "logs"), ("consume", "logs/x\n::error::y.jsonl"), ("stats", "logs/x\n::error::y.jsonl", "-q")],
)
def test_a_message_is_one_line_whatever_name_an_agent_gave_a_file(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A build server acts on a line that begins so, and takes the rest of a name for a message of its own."""
    (tmp_path / "s.yaml").write_text("assertions:\n  - {type: max-turns, max: 1}\n", encoding="utf-8")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "x\n::error::y.jsonl").touch()
    ran = run(tmp_path, *arguments)
    assert ran.code == 3
    assert "x⏎::error::y.jsonl: the input is empty" in ran.err
    assert not [line for line in ran.err.splitlines() if line.startswith("::")]
