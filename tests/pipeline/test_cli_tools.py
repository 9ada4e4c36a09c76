"""`agentv-stream tools` and the page that is made from the same tables."""

import json
from pathlib import Path

import pytest

from agentv_stages.providers import NAMES, get_provider
from agentv_stream.cli.tools import markdown, tools

PAGE = Path(__file__).parents[2] / "docs" / "tools.md"


def test_the_page_in_docs_is_what_the_code_says() -> None:
    assert PAGE.read_text() == markdown(), "python -m agentv_stream.cli.tools > docs/tools.md"


def test_json_has_every_row_of_every_provider(capsys: pytest.CaptureFixture[str]) -> None:
    tools(None, True)
    rows = json.loads(capsys.readouterr().out)
    assert {row["provider"] for row in rows} >= {name for name in NAMES if get_provider(name).tools.rows}
    assert len([row for row in rows if row["provider"] == "codex"]) == len(get_provider("codex").tools.rows)
    assert next(row for row in rows if row["native"] == "apply_patch")["edit"] is True


def test_one_provider_is_printed_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    tools("pi-cli", False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Pi (pi)"
    assert lines[1].split() == ["native", "tool", "kind", "edit", "input", "seen", "in"]
    assert any(line.startswith("find ") and " Glob " in line for line in lines)


def test_an_unknown_provider_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        tools("nobody", False)
    assert end.value.code == 2
    assert "no provider is called 'nobody'" in capsys.readouterr().err
