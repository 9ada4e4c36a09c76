"""The public API: what it exports, what importing costs."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import agentv_stream
from agentv_stages.session.parts import MakeStage
from agentv_stream.api.adapter import Adapter, NormalizedCall
from agentv_stream.bulk.outcome import Outcome
from agentv_stream.checks.spec import Spec, SpecCase
from agentv_stream.live.session_report import Report
from support.consuming import environment


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment(), check=True
    )
    return done.stdout.strip()


# --- what is exported


def test_all_names_are_there_and_nothing_else() -> None:
    assert list(agentv_stream.__all__) == sorted(set(agentv_stream.__all__))
    for name in agentv_stream.__all__:
        assert getattr(agentv_stream, name) is not None
    public = {name for name in dir(agentv_stream) if not name.startswith("_")}
    assert public == set(agentv_stream.__all__)
    with pytest.raises(AttributeError):
        _ = agentv_stream.no_such_name  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue] - the types say so, too


def test_the_version_is_that_of_the_package() -> None:
    assert agentv_stream.__version__ == metadata.version("agentv-stream")


STAGES = (
    *(f"model.{name}" for name in ("event", "batch", "message", "provider", "tools", "stage", "times", "fault")),
    *("figures.result", "figures.merge", "trajectory"),
)


def _undocumented(name: str, thing: object) -> Iterator[str]:
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return
    if not thing.__doc__ or thing.__doc__.startswith(f"{thing.__name__}("):  # as a dataclass documents itself
        yield name
    for member, value in vars(thing).items() if inspect.isclass(thing) else ():
        if not member.startswith("_") and (isinstance(value, property) or inspect.isfunction(value)):
            if not value.__doc__:
                yield f"{name}.{member}"


def test_every_public_name_says_what_it_is() -> None:
    public = {name: getattr(agentv_stream, name) for name in agentv_stream.__all__}
    for module in (import_module(f"agentv_stages.{name}") for name in STAGES):
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        public |= {f"{module.__name__}.{n}": getattr(module, n) for n in getattr(module, "__all__", own) if n[0] != "_"}
    for thing in (Adapter, NormalizedCall, Outcome, Report, Spec, SpecCase):  # what public functions give
        public[thing.__name__] = thing
    assert [name for found in public for name in _undocumented(found, public[found])] == []


NOT_OPENED = (
    "Export",
    "Redaction",
    "Provider",
    "Dialect",
    "LogRoot",
    "SpecCase",
    "Outcome",
    "GroupFigures",
    "BulkReport",
    "BulkTask",
    "Redaction",
)
"""Their parts are not part of this API."""


LAZY = {"Executor": Executor, "MakeStage": MakeStage}
"""Types that a module imports for type checkers alone, because they take longer than most answers."""


def _classes(annotation: object) -> Iterator[type]:
    """Our classes in an annotation, at any depth."""
    inner: tuple[Any, ...] = get_args(annotation)
    for argument in inner:
        if isinstance(argument, list):  # the parameters of a callable
            parameters: list[Any] = argument  # pyright: ignore[reportUnknownVariableType] - any annotations
            for parameter in parameters:
                yield from _classes(parameter)
        else:
            yield from _classes(argument)
    if isinstance(annotation, type) and annotation.__module__.startswith("agentv_"):
        yield annotation


def _signatures(name: str, thing: object) -> Iterator[tuple[str, object]]:
    """Annotations of a function, of fields, and of the public methods and properties of a class."""
    if inspect.isfunction(thing):
        yield from ((name, hint) for hint in get_type_hints(inspect.unwrap(thing), None, LAZY).values())
    if not inspect.isclass(thing) or name in NOT_OPENED:
        return
    fields: Iterable[str] = getattr(thing, "__struct_fields__", getattr(thing, "__dataclass_fields__", ()))
    hints = get_type_hints(thing) if fields else {}
    yield from ((f"{name}.{field}", hints[field]) for field in fields if not field.startswith("_"))
    for member, value in vars(thing).items():
        function = value.fget if isinstance(value, property) else getattr(value, "func", value)
        if inspect.isfunction(function) and not member.startswith("_"):
            yield from _signatures(f"{name}.{member}", function)


def test_every_type_in_a_signature_can_be_imported_from_the_package() -> None:
    public = {name: getattr(agentv_stream, name) for name in agentv_stream.__all__}
    known = {id(thing) for thing in public.values()}
    hints = [found for name in public for found in _signatures(name, public[name])]
    used = [(where, kind) for where, hint in hints for kind in _classes(hint)]
    assert {where: kind for where, kind in used if id(kind) not in known} == {}
    assert len(used) > 200


def test_what_type_checkers_see_is_what_is_exported() -> None:
    tree = ast.parse(Path(agentv_stream.__file__ or "").read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {a.asname or a.name for node in guarded.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert seen == set(agentv_stream.__all__)


def test_the_core_needs_msgspec_and_the_standard_library_only() -> None:
    code = (
        "import sys, pkgutil, importlib; before = set(sys.modules); import agentv_stages;"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(agentv_stages.__path__, 'agentv_stages.')];"
        "tops = {n.partition('.')[0] for n in set(sys.modules) - before};"
        "print(sorted(t for t in tops if t not in sys.stdlib_module_names))"
    )
    loaded = ast.literal_eval(python(code))
    assert set(loaded) - {"typing_extensions"} == {"agentv_stages", "msgspec"}  # msgspec takes it where it is installed


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("anyio", "asyncio", "typer", "yaml", "msgspec", "zstandard", "structlog")
    assert python(f"import sys, agentv_stream; print([n for n in {heavy!r} if n in sys.modules])") == "[]"
