"""SQL over a data set: the views, the queries of the docs, and what a query may not do."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentv_stream import import_sessions
from agentv_stream.bulk.query import run_query
from agentv_stream.cli import build
from agentv_stream.errors import SourceError, UsageError
from support.made_sessions import make_folder

pytest.importorskip("duckdb", reason="the query extra is not installed")
pytest.importorskip("pyarrow", reason="the Parquet extra is not installed")
DOCS = Path(__file__).parents[2] / "docs" / "queries.md"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("query")
    make_folder(root / "in")
    import_sessions([root / "in"], parquet=root / "d", engine="serial")
    return root / "d"


@pytest.mark.parametrize("sql", re.findall(r"```sql\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL))
def test_every_query_of_the_docs_runs_and_finds_something(dataset: Path, sql: str) -> None:
    names, rows = run_query(sql, dataset)
    assert names
    assert rows or "repeated_failures" in sql


def test_the_views_agree_with_each_other(dataset: Path) -> None:
    sql = """SELECT (SELECT sum(tool_calls) FROM sessions), (SELECT count(*) FROM tool_calls),
             (SELECT sum(tool_calls) FROM messages),
             (SELECT sum(faults) FROM sessions), (SELECT count(*) FROM faults)"""
    _, rows = run_query(sql, dataset)
    sessions, calls, messages, faults, rows_of_faults = rows[0]
    assert sessions == calls == messages > 100
    assert faults == rows_of_faults == 1


def test_a_view_without_any_row_has_its_columns(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 2)
    import_sessions([tmp_path / "in"], parquet=tmp_path / "d", engine="serial")
    names, rows = run_query("SELECT * FROM faults", tmp_path / "d")
    assert rows == []
    assert names[:2] == ["session_key", "source"]
    assert names[-2:] == ["provider", "day"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY sessions TO '/tmp/agentv-stream-query-test.csv'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "SELEC 1",
    ],
)
def test_a_query_cannot_reach_outside_the_data_set(dataset: Path, sql: str) -> None:
    with pytest.raises(UsageError):
        run_query(sql, dataset)


def test_a_folder_that_is_no_data_set_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no data set"):
        run_query("SELECT 1", tmp_path)


def test_the_command_gives_json_csv_and_a_table(dataset: Path) -> None:
    run = CliRunner().invoke
    app = build(["query", "stats"])
    sql = "SELECT provider, count(*) AS n, min(started_at) AS t, ['\x1b[31m'] AS l FROM sessions GROUP BY ALL"
    told = run(app, ["query", sql, str(dataset), "--json"])
    assert told.exit_code == 0
    assert json.loads(told.stdout)["n"] == 12
    rows = list(csv.reader(io.StringIO(run(app, ["query", sql, str(dataset), "--csv"]).stdout)))
    assert rows[0] == ["provider", "n", "t", "l"]
    table = run(app, ["query", sql, str(dataset)])
    assert "claude" in table.stdout
    assert "\x1b" not in table.stdout
    assert run(app, ["query", "SELEC", str(dataset)]).exit_code == 2
    assert run(app, ["query", "SELECT 1", str(dataset / "nowhere")]).exit_code == 4
