"""What a command was told, as one object: options before `AGENTV_STREAM_*` variables before `[tool.agentv-stream]`.

The front end builds it; nothing below looks at arguments or the environment.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from agentv_stages.lines import DEFAULT_CAP
from agentv_stream.errors import UsageError
from agentv_stream.files import is_file

StreamLog: TypeAlias = Literal["false", "summary", "raw"]
Shape: TypeAlias = Literal["message", "case"]
PREFIX = "AGENTV_STREAM_"


@dataclass(frozen=True, slots=True)
class Settings:
    """How one stream is consumed. `max_record` is the cap of a record in bytes; `bound` counts batches per channel.

    `transcript` is a file, or `-` for standard output; else the transcript gets its usual name in `out`. `roots` says
    where sessions are found, as `PROVIDER=PATH` or `PATH`; what is named by its path does not need it.
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
    bound: int = 1
    quiet: bool = False
    live: bool | None = None
    roots: tuple[str, ...] = ()


def resolve(options: Mapping[str, Any], environment: Mapping[str, str], folder: Path) -> Settings:
    """Settings from given options (None: not given), the environment, and the nearest pyproject.toml from `folder` up.

    Raises: UsageError for a value that does not fit, naming where it stands.
    """
    settings = Settings()
    for where, values in (("pyproject.toml", _project(folder)), ("environment", _environment(environment))):
        for name, value in values.items():
            settings = _with(settings, name, value, where)
    given = {name: value for name, value in options.items() if value is not None}
    settings = replace(settings, **given)
    for name in ("max_record", "bound"):
        if getattr(settings, name) < 1:
            raise UsageError(f"{name} = {getattr(settings, name)}: expected a number above 0")
    return settings


def _environment(environment: Mapping[str, str]) -> dict[str, Any]:
    names = {f.name for f in fields(Settings)}
    found: dict[str, Any] = {}
    for key, value in environment.items():
        name = key.removeprefix(PREFIX).lower()
        if key.startswith(PREFIX) and name in names:
            found[name] = value
    return found


def _project(folder: Path) -> dict[str, Any]:
    for place in (folder, *folder.parents):
        path = place / "pyproject.toml"
        if is_file(path):
            try:
                tools: Any = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
            except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
                return {}  # somebody else's file; its own tools will complain
            table: Any = tools.get("agentv-stream", {}) if isinstance(tools, dict) else {}  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - TOML
            if not isinstance(table, dict):
                raise UsageError(f"{path}: tool.agentv-stream is no table of settings")
            known = {f.name for f in fields(Settings)}
            values: dict[str, Any] = {
                str(key).replace("-", "_"): value for key, value in cast(dict[str, Any], table).items()
            }
            unknown = sorted(set(values) - known)
            if unknown:
                raise UsageError(
                    f"{path}: [tool.agentv-stream] has no setting {unknown[0]!r}; known: {', '.join(sorted(known))}"
                )
            return values
    return {}


def _with(settings: Settings, name: str, value: Any, where: str) -> Settings:
    try:
        return replace(settings, **{name: _convert(name, value)})
    except (ValueError, TypeError) as error:
        raise UsageError(f"{where}: {name} = {value!r}: {error}") from error


def _convert(name: str, value: Any) -> Any:
    """A text of the environment or a TOML value as what the field holds.

    Raises: ValueError.
    """
    if name == "out":
        return Path(str(value))
    if name in ("tee", "subagents", "quiet", "live"):
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("1", "true", "yes", "on"):
            return True
        if str(value).lower() in ("0", "false", "no", "off", ""):
            return False
        raise ValueError("expected true or false")
    if name in ("attempt", "max_record", "bound"):
        return int(value)
    if name in ("watch", "roots"):
        return tuple(str(v) for v in value) if isinstance(value, list) else tuple(v for v in str(value).split(",") if v)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - TOML
    if name == "stream_log":
        return stream_log(value)
    if name == "transcript_shape":
        if value not in get_args(Shape):
            raise ValueError(f"expected one of {', '.join(get_args(Shape))}")
    return str(value) if not isinstance(value, str) else value


def stream_log(value: object) -> StreamLog:
    """`false`, `summary` or `raw`; the booleans are accepted as YAML and TOML write them.

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
