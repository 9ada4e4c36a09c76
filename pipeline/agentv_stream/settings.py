"""A command's settings as one object: options, else `AGENTV_STREAM_*` variables, else `[tool.agentv-stream]`.

The front end builds it; no lower layer looks at arguments or the environment.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from agentv_stages.chain.lines import DEFAULT_CAP
from agentv_stages.model.payload import printable_path
from agentv_stream.errors import UsageError
from agentv_stream.logs import LogFormat
from agentv_stream.names import suggestion
from agentv_stream.sources.files import is_file
from agentv_stream.units import bytes_of

StreamLog: TypeAlias = Literal["false", "summary", "raw"]
Shape: TypeAlias = Literal["message", "case", "atif"]
PREFIX = "AGENTV_STREAM_"


class Settings(Struct, frozen=True):
    """How one stream is consumed; docs/cli.md describes each setting at the option of the same name.

    `target`, `test_id` and `attempt` appear in the outputs and their names; `prompt` becomes the first message if the
    log has none. `watch` names programs whose runs are listed; `subagents` includes the sub-agents' files of a finished
    session. `max_record` is the cap of a record in bytes; `bound` is the capacity of a channel in batches.
    `sync` waits until outputs are on the disk.

    `transcript` is a file, or `-` for standard output; without it the transcript gets its usual name in `out`. `stats`,
    `quiet`, `live` and `roots` are for commands: `open_stream` ignores them. `roots` says where sessions are looked up,
    as `PROVIDER=PATH` or `PATH`; a session given by its path does not need it.

    `page` writes the session as a page of HTML, whose secrets are always markers. `redact` replaces secrets by markers
    before anything is written or shown, but for `tee`; `tee_redacted` passes the redacted input on. `redact_rules` are
    further kinds of secrets, each `KIND=PATTERN` (a regular expression of Python, whose first group is the secret if it
    has one);
    `redact_allow` are patterns of texts that stay.

    `otel` is the endpoint to which spans are sent, or `env` where the variables `OTEL_EXPORTER_OTLP_*` say it;
    `otel_file` a file of OTLP JSON lines. `otel_content` adds texts, inputs and outputs, redacted; `otel_old_names`
    earlier names of attributes. `machine` is put into results and spans, `auto` is the name of the host.

    `log` is the form in which a long-running command reports on standard error: `plain` messages for people, or entries
    with time, level and session as `json` or for a `console`.

    Raises: UsageError for a number or a word that is not allowed.
    """

    provider: str | None = None
    out: Path | None = None
    transcript: str | None = None
    target: str | None = None
    test_id: str | None = None
    attempt: int | None = None
    prompt: str | None = None
    stream_log: StreamLog = "false"
    transcript_shape: Shape = "message"
    stats: str | None = None
    tee: bool = False
    subagents: bool = True
    watch: tuple[str, ...] = ()
    max_record: int = DEFAULT_CAP
    bound: int = 0
    quiet: bool = False
    live: bool | None = None
    sync: bool = True
    roots: tuple[str, ...] = ()
    page: bool = False
    dump_traces: bool = False
    include_trace: bool = False
    redact: bool = False
    tee_redacted: bool = False
    redact_rules: tuple[str, ...] = ()
    redact_allow: tuple[str, ...] = ()
    otel: str | None = None
    otel_file: str | None = None
    otel_content: bool = False
    otel_old_names: bool = False
    machine: str | None = None
    log: LogFormat = "plain"

    def __post_init__(self) -> None:
        """Checks values and makes texts valid UTF-8, as outputs need them; command-line arguments may not be.

        Raises: UsageError for a value that is not allowed, also of a wrong kind: a program may have it from a file.
        """
        if isinstance(self.transcript, os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers that check no types
            force_setattr(self, "transcript", os.fspath(self.transcript))
        for name in (*_LEAST, *_WORDS, *_TEXTS, *_SWITCHES, *_PATTERNS):
            value = getattr(self, name)
            try:
                _check(name, value)
            except ValueError as error:
                raise UsageError(f"Settings({name}={value!r}): {error}") from None
        if isinstance(self.out, str):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers that check no types
            force_setattr(self, "out", Path(self.out))
        if self.machine == "auto":
            force_setattr(self, "machine", os.uname().nodename or None)
        for name in ("target", "test_id", "prompt", "machine"):
            text: str | None = getattr(self, name)
            if text is not None and not text.isascii():
                force_setattr(self, name, printable_path(text))


def resolve(options: Mapping[str, Any], environment: Mapping[str, str], folder: Path) -> Settings:
    """Settings from given options (None: not given), the environment, and the nearest pyproject.toml from `folder` up.

    Raises: UsageError for an invalid value, saying where it comes from.
    """
    settings = Settings()
    project, table = _project(folder)
    for name, value in table.items():
        settings = _with(settings, name, value, f"{project}{_line(project, name, value)}: {name.replace('_', '-')}")
    for name, value in _environment(environment).items():
        settings = _with(settings, name, value, _variable(name))
    chosen = {name: value for name, value in options.items() if value is not None}
    for name, value in chosen.items():
        try:
            _check(name, value)
        except ValueError as error:
            raise UsageError(f"--{name.replace('_', '-')} = {value}: {error}") from None
    return replace(settings, **chosen)


_LEAST = {"max_record": 1, "bound": 0, "attempt": 0}
_WORDS = {"stream_log": get_args(StreamLog), "transcript_shape": get_args(Shape), "log": get_args(LogFormat)}
_PATTERNS = ("redact_rules", "redact_allow")
_KIND = re.compile(r"[a-z0-9-]{1,40}\Z")
_TEXTS = ("provider", "transcript", "target", "test_id", "prompt", "stats", "otel", "otel_file", "machine")
_SWITCHES = (
    "tee",
    "subagents",
    "quiet",
    "live",
    "sync",
    "page",
    "dump_traces",
    "include_trace",
    "redact",
    "tee_redacted",
    "otel_content",
    "otel_old_names",
)


def _check(name: str, value: Any) -> None:
    """Raises: ValueError for a value that is not allowed."""
    if name in _LEAST and value is not None and (not isinstance(value, int) or value < _LEAST[name]):
        raise ValueError(f"expected {_LEAST[name]} or more")
    if name in _TEXTS and value is not None and not isinstance(value, str):
        raise ValueError("expected a text")
    if name in _SWITCHES and not isinstance(value, bool) and not (name == "live" and value is None):
        raise ValueError("expected True or False")
    if name in _PATTERNS:
        for text in cast("tuple[str, ...]", value):
            _check_pattern(name, text)
    if name in _WORDS and value not in _WORDS[name]:
        raise ValueError(f"expected one of {', '.join(_WORDS[name])}")


def _check_pattern(name: str, text: str) -> None:
    """Raises: ValueError for a rule or a pattern that cannot be used."""
    kind, equals, pattern = text.partition("=") if name == "redact_rules" else ("own", "=", text)
    if not equals or _KIND.match(kind) is None:
        raise ValueError(f"{text!r}: expected KIND=PATTERN, the kind of lower-case letters, digits and hyphens")
    if compiled(pattern, text).match(b"") is not None:
        raise ValueError(f"{text!r}: the pattern also matches an empty text")


def compiled(pattern: str, text: str) -> "re.Pattern[bytes]":
    """A user's pattern, for bytes; `text` is the setting that contains it. Raises: ValueError."""
    try:
        return re.compile(pattern.encode())
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r}: {error}") from error


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings given by variables; an empty variable counts as not set."""
    variables = {name: environment.get(_variable(name)) for name in Settings.__struct_fields__}
    return {name: value for name, value in variables.items() if value}


def _project(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The nearest pyproject.toml and its settings."""
    for place in (folder, *folder.parents):
        path = place / "pyproject.toml"
        if is_file(path):
            import tomllib  # most folders have no such file, and start-up time counts

            try:
                tools: Any = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
            except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
                return path, {}  # another program's file; its own tools will complain
            table: Any = tools.get("agentv-stream", {}) if isinstance(tools, dict) else {}  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - TOML
            if not isinstance(table, dict):
                raise UsageError(f"{path}: tool.agentv-stream is not a table of settings")
            known = set(Settings.__struct_fields__)
            values: dict[str, Any] = {
                str(key).replace("-", "_"): value for key, value in cast(dict[str, Any], table).items()
            }
            unknown = sorted(set(values) - known)
            if unknown:
                wrong, names = unknown[0].replace("_", "-"), sorted(name.replace("_", "-") for name in known)
                hint = suggestion(wrong, names, names)
                raise UsageError(f"{path}: [tool.agentv-stream] has no setting {wrong!r}{hint}")
            return path, values
    return folder, {}


def _line(project: Path, name: str, value: Any) -> str:
    """`:LINE` of the first pattern that does not compile; empty otherwise."""
    for text in value if name in _PATTERNS and isinstance(value, list) else ():  # pyright: ignore[reportUnknownVariableType] - TOML
        try:
            _check(name, (text,))
        except (ValueError, AttributeError):
            lines = project.read_text(encoding="utf-8").splitlines()
            written = (str(text), str(text).replace("\\", "\\\\"))  # as a literal or as a basic string  # pyright: ignore[reportUnknownArgumentType] - TOML
            found = (n for n, line in enumerate(lines, 1) if any(form in line for form in written))
            return f":{next(found, 1)}"
    return ""


def _with(settings: Settings, name: str, value: Any, where: str) -> Settings:
    try:
        converted = _convert(name, value)
        _check(name, converted)
        return replace(settings, **{name: converted})
    except (ValueError, TypeError) as error:
        raise UsageError(f"{where} = {value!r}: {error}") from error


def _convert(name: str, value: Any) -> Any:
    """A text of the environment or a TOML value, converted to the field's type.

    Raises: ValueError.
    """
    if name in _SWITCHES:
        if isinstance(value, bool):
            return value
        if not isinstance(value, str):  # of TOML, where 1 is a number
            raise ValueError("expected true or false")
        if value.lower() in ("1", "true", "yes", "on"):
            return True
        if value.lower() in ("0", "false", "no", "off"):
            return False
        raise ValueError("expected true or false")
    if name == "max_record" and isinstance(value, str):
        return bytes_of(value)
    if name in ("attempt", "max_record", "bound"):
        return _whole_number(value)
    if name in ("watch", "roots"):
        return _texts(value)
    if name in _PATTERNS:  # a pattern may contain a comma
        return tuple(value.splitlines()) if isinstance(value, str) else _texts(value)
    if name == "stream_log":
        return stream_log(value)
    if not isinstance(value, str):
        raise ValueError("expected a text, in quotes")
    return Path(value) if name == "out" else value


def _whole_number(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value):
        return int(value)
    raise ValueError("expected a whole number")


def _texts(value: Any) -> tuple[str, ...]:
    """A list of strings, or one comma-separated string."""
    if isinstance(value, str):
        return tuple(part for part in value.split(",") if part)
    items: list[Any] = value if isinstance(value, list) else [None]  # pyright: ignore[reportUnknownVariableType] - TOML
    if not all(isinstance(item, str) for item in items):
        raise ValueError("expected a list of texts")
    return tuple(items)


def stream_log(value: object) -> StreamLog:
    """`false`, `summary` or `raw`; also accepts booleans as YAML and TOML spell them.

    Raises: ValueError.
    """
    text = str(value).lower()
    if text == "false":
        return "false"
    if text == "summary":
        return "summary"
    if text == "raw":
        return "raw"
    raise ValueError("expected false, summary or raw")


def from_process(options: Mapping[str, Any]) -> Settings:
    """As `resolve`, with this process's environment and folder."""
    return resolve(options, os.environ, Path.cwd())
