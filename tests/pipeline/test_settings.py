"""Settings: options before variables before pyproject.toml; what does not fit is named with its place."""

from pathlib import Path

import pytest

from agentv_stream.errors import UsageError
from agentv_stream.settings import Settings, resolve


def test_options_go_before_variables_before_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.agentv-stream]\ntarget = "p"\nattempt = 1\nquiet = true\n')
    (tmp_path / "in").mkdir()
    settings = resolve(
        {"target": "o", "out": None}, {"AGENTV_STREAM_TARGET": "e", "AGENTV_STREAM_ATTEMPT": "2"}, tmp_path / "in"
    )
    assert (settings.target, settings.attempt, settings.quiet, settings.out) == ("o", 2, True, None)


def test_roots_are_a_list_in_the_project_and_a_variable_goes_before(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.agentv-stream]\nroots = ["claude=/a, b", "codex=/c"]\n')
    assert resolve({}, {}, tmp_path).roots == ("claude=/a, b", "codex=/c")
    assert resolve({}, {"AGENTV_STREAM_ROOTS": "/d"}, tmp_path).roots == ("/d",)


def test_nothing_said_gives_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert resolve({}, {"AGENTV_STREAM_CORPUS": "/x", "HOME": "/"}, tmp_path) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "field", "got"),
    [
        ("TEE", "yes", "tee", True),
        ("TEE", "0", "tee", False),
        ("WATCH", "a,b", "watch", ("a", "b")),
        ("ROOTS", "claude=/a,/b", "roots", ("claude=/a", "/b")),
        ("STREAM_LOG", "raw", "stream_log", "raw"),
        ("STREAM_LOG", "False", "stream_log", "false"),
        ("OUT", "x/y", "out", Path("x/y")),
        ("MAX_RECORD", "1000", "max_record", 1000),
        ("MAX_RECORD", "64M", "max_record", 64 * 1024 * 1024),
    ],
)
def test_variables_are_read_as_what_they_set(tmp_path: Path, name: str, value: str, field: str, got: object) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    assert getattr(resolve({}, {f"AGENTV_STREAM_{name}": value}, tmp_path), field) == got


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TEE", "maybe"),
        ("ATTEMPT", "x"),
        ("ATTEMPT", "1.5"),
        ("ATTEMPT", "-1"),
        ("STREAM_LOG", "loud"),
        ("MAX_RECORD", "64X"),
        ("MAX_RECORD", "0"),
        ("BOUND", "9" * 5000),
        ("TRANSCRIPT_SHAPE", "round"),
    ],
)
def test_values_that_do_not_fit_are_refused_with_their_place(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"^AGENTV_STREAM_{name} = .*expected"):
        resolve({}, {f"AGENTV_STREAM_{name}": value}, tmp_path)


@pytest.mark.parametrize("value", ["1", "0", "1.0", "[true]", '"maybe"'])
@pytest.mark.parametrize("name", ["quiet", "tee", "subagents", "live"])
def test_a_switch_in_the_project_is_true_or_false(tmp_path: Path, name: str, value: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.agentv-stream]\n{name} = {value}\n")
    with pytest.raises(UsageError, match=rf"pyproject\.toml: {name} = .*: expected true or false"):
        resolve({}, {}, tmp_path)


def test_a_setting_that_nobody_knows_is_refused_and_a_broken_project_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.agentv-stream]\nvolume = 11\n")
    with pytest.raises(UsageError, match=r"no setting 'volume'; there are: attempt, .*, stream-log, "):
        resolve({}, {}, tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.agentv-stream]\nstreem_log = 'raw'\n")
    with pytest.raises(UsageError, match="no setting 'streem-log'; did you mean 'stream-log'"):
        resolve({}, {}, tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.agentv-stream\n")
    assert resolve({}, {}, tmp_path) == Settings()


def test_an_empty_variable_says_nothing(tmp_path: Path) -> None:
    """`AGENTV_STREAM_OUT= agentv-stream …` wrote into the current folder."""
    (tmp_path / "pyproject.toml").write_text("[tool.agentv-stream]\nout = 'logs'\ntee = true\n")
    settings = resolve({}, {"AGENTV_STREAM_OUT": "", "AGENTV_STREAM_TEE": "", "AGENTV_STREAM_ATTEMPT": ""}, tmp_path)
    assert (settings.out, settings.tee, settings.attempt) == (Path("logs"), True, None)


@pytest.mark.parametrize(
    "table",
    [
        "quiet = 3",
        "attempt = 'x'",
        "attempt = [1]",
        "attempt = 1.5",
        "attempt = true",
        "attempt = -1",
        "max-record = 0",
        "stream-log = 7",
        "stream-log = true",
        "tee = 'perhaps'",
        "out = 3",
        "provider = 3",
        "target = ['a']",
        "watch = [1]",
        "watch = 3",
        "roots = {claude = '/a'}",
        "transcript-shape = ['case']",
    ],
)
def test_values_of_the_project_are_checked_too(tmp_path: Path, table: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.agentv-stream]\n{table}\n")
    with pytest.raises(UsageError, match=rf"pyproject.toml: {table.split()[0]} = .*expected"):
        resolve({}, {}, tmp_path)


def test_a_table_that_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nagentv-stream = 5\n")
    with pytest.raises(UsageError):
        resolve({}, {}, tmp_path)


@pytest.mark.parametrize("given", [{"max_record": 0}, {"max_record": -5}, {"bound": -1}])
def test_sizes_are_above_zero(tmp_path: Path, given: dict[str, int]) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    with pytest.raises(UsageError, match=r"^--(max-record|bound) = .*[01] or more"):
        resolve(given, {}, tmp_path)
