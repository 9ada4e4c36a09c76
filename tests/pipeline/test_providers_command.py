"""`agentv-stream providers`, and docs/providers.md that is made from the same table."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentv_stages.providers import all_providers
from agentv_stream.cli import build
from agentv_stream.documentation.docs_pages import write
from agentv_stream.documentation.provider_page import MEASURED, markdown
from agentv_stream.documentation.provider_survey import survey
from agentv_stream.documentation.provider_table import dialect_rows
from support.decoding import corpus

DOCS = Path(__file__).resolve().parents[2] / "docs" / "providers.md"
NAMES = {dialect.name for provider in all_providers() for dialect in provider.dialects}


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build(["providers", "tools"]), ["providers", *arguments])
    return result.exit_code, result.output


def test_every_dialect_is_listed_with_its_losses() -> None:
    code, text = run()
    assert code == 0
    for provider in all_providers():
        assert provider.title in text
        for dialect in provider.dialects:
            assert f"  {dialect.name}  (" in text
            assert all(f"missing: {loss}\n" in text for loss in dialect.losses)


def test_json_holds_one_object_per_dialect() -> None:
    code, text = run("--json")
    rows = json.loads(text)
    assert code == 0
    assert {row["dialect"] for row in rows} == NAMES
    claude = next(row for row in rows if row["dialect"] == "claude-stream")
    assert claude["produced_by"] == "claude -p PROMPT --output-format stream-json --verbose"
    assert claude["has_end"] is True
    assert claude["has_prompt"] is False
    assert claude["losses"]


def test_one_provider_is_chosen_by_name_or_alias() -> None:
    rows = json.loads(run("--provider", "codex-cli", "--json")[1])
    assert {row["provider"] for row in rows} == {"codex"}


def test_an_unknown_provider_is_an_error_of_usage() -> None:
    assert run("--provider", "nobody")[0] == 2


def test_people_are_told_where_each_dialect_comes_from_and_how_it_ends() -> None:
    abouts = [dialect.about for provider in all_providers() for dialect in provider.dialects]
    assert all(about.made_by and about.end for about in abouts)  # without an end the page says that it is unknown


def test_an_old_layout_is_named_where_it_is_looked_for() -> None:
    provider = next(provider for provider in all_providers() if provider.name == "vibe")
    (dialect,) = (dialect for dialect in provider.dialects if dialect.name == "vibe-session-old")
    assert set(dialect.about.places or ()) < set(provider.roots[0].patterns)
    row = next(row for row in dialect_rows([provider]) if row.dialect == "vibe-session-old")
    assert row.lies_in[0] == "~/.vibe/logs/session/session_*/messages.jsonl"


def test_a_dialect_that_lies_anywhere_names_no_place() -> None:
    rows = {row.dialect: row.lies_in for row in dialect_rows(all_providers())}
    assert rows["opencode-export"] == rows["kilo-export"] == ()
    assert all(place.endswith(".jsonl") for place in rows["vscode-chat-jsonl"])


def test_every_dialect_with_an_end_record_names_it() -> None:
    assert [row.dialect for row in dialect_rows(all_providers()) if row.has_end and not row.end] == []


@pytest.mark.parametrize("name", ["claude-stream", "codex-exec", "qwen-stream", "opencode-stream", "acp"])
def test_streams_without_the_prompt_say_so(name: str) -> None:
    row = next(row for row in dialect_rows(all_providers()) if row.dialect == name)
    assert not row.has_prompt


def test_the_page_says_what_the_code_says() -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert page.partition("\n" + MEASURED)[0] + "\n" == markdown() + "\n", "make it again: make docs"


def test_the_page_is_written_without_recordings_and_keeps_their_counts(tmp_path: Path) -> None:
    page = DOCS.read_text(encoding="utf-8")
    (tmp_path / "providers.md").write_text(page.replace("### `amp-stream`", "### `amp-strm`"), encoding="utf-8")
    write(tmp_path)
    assert (tmp_path / "providers.md").read_text(encoding="utf-8") == page


def test_the_recordings_hold_nothing_that_has_no_name() -> None:
    found = survey(corpus("clients").parent)
    assert set(found) <= NAMES
    assert all(name for seen in found.values() for name in seen.unknown)
    assert sum(seen.records for seen in found.values()) > 50_000
