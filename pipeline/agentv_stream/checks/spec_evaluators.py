"""Evaluators of a spec file. In: lists of them, in any place and spelling that a version had. Out: `Item`s.

`include:` takes those of a template. A misspelt name is an error with its line; a name like no known one is that of a
user's script, and skipped.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentv_stages.trajectory import ConfigError, Context, Member, build
from agentv_stages.trajectory.build import SCRIPT, SKIPPED
from agentv_stages.trajectory.case import Skipped
from agentv_stages.trajectory.config import STEP
from agentv_stages.trajectory.evaluator import Terms
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stream.checks.spec_names import TYPES, keys_of, snake, type_name
from agentv_stream.checks.variables import fill_variables
from agentv_stream.checks.yaml_lines import At, Document, Errors, SpecError, read_yaml
from agentv_stream.names import nearly
from agentv_stream.sources.files import is_file

MAX_INCLUDES = 3
LISTS = ("assertions", "assert", "evaluators")
SCRIPTS = (".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".py")
_TYPE_NAME = re.compile("[a-zA-Z][a-zA-Z0-9_-]{0,63}")


@dataclass(frozen=True)
class Item:
    """One evaluator as read: its configuration in canonical spelling, and its location."""

    config: Mapping[str, Any]
    document: Document
    at: At


def make(item: Item, context: Context) -> Member:
    """Builds an evaluator. Raises: SpecError."""
    kind = str(item.config["type"])
    if kind not in TYPES:
        found = _script_of(kind, item.document.path) is not None
        reason = SCRIPT if found else f"{SCRIPT}, .agentv/assertions/{kind}.ts, which is not here"
        return Skipped(Terms(str(item.config.get("name", kind)), kind), reason)
    try:
        return build(item.config, context)
    except ConfigError as error:
        raise _located(item, error) from error


def _located(item: Item, error: ConfigError) -> SpecError:
    wrong = error.wrong if error.wrong is not None else value_at(item.config, error.path)
    shown = wrong if isinstance(wrong, str) and error.known else None
    return item.document.error((*item.at, *error.path), error.message, error.known, shown)


MOST_MISTAKES = 20


def mistakes_of(item: Item, context: Context) -> list[SpecError]:
    """All errors of an evaluator, as far as each can be looked behind: a bad value is replaced by an allowed value
    until the evaluator can be built, or until the rest cannot be replaced."""
    found: list[SpecError] = []
    if str(item.config["type"]) not in TYPES:
        return found  # a type of the user's own
    for _ in range(MOST_MISTAKES):
        error = _mistake(item, context)
        if error is None:
            break
        found.append(_located(item, error))
        better = _mended(item, context, error)
        if better is None:
            break
        item = better
    return found


def _mistake(item: Item, context: Context) -> ConfigError | None:
    try:
        build(item.config, context)
    except ConfigError as error:
        return error
    return None


def _mended(item: Item, context: Context, error: ConfigError) -> Item | None:
    """The evaluator with another value in the place of the wrong one; None if no value helps."""
    if not error.path:
        return None
    values: tuple[Any, ...] = (*error.known[:1], 1, "x", [], None, {"type": "is-json"})
    for value in values:
        other = replace(item, config=_replaced(item.config, error.path, value))
        again = _mistake(other, context)
        if again is None or (again.path and again.path[: len(error.path)] != error.path):
            return other
    return None


def _replaced(value: Any, at: tuple[str | int, ...], new: Any) -> Any:
    """A copy of a value with another one at that place."""
    if not at:
        return new
    if is_list(value):
        return [_replaced(item, at[1:], new) if i == at[0] else item for i, item in enumerate(value)]
    if is_object(value):
        changed = {key: _replaced(member, at[1:], new) if key == at[0] else member for key, member in value.items()}
        return changed if at[0] in value else {**changed, str(at[0]): new}
    return value


def items_of(document: Document, at: At, value: Mapping[str, Any], errors: Errors) -> tuple[list[Item], list[At]]:
    """The evaluators of a case or a file, from the first list that it has, and where the other lists are. Errors in one
    evaluator are noted, and the others are read."""
    execution: Any = value.get("execution")
    places: list[tuple[At, Any]] = [((*at, name), value.get(name)) for name in ("assertions", "assert")]
    if is_object(execution):
        places += [((*at, "execution", name), execution.get(name)) for name in LISTS]
    places.append(((*at, "evaluators"), value.get("evaluators")))
    found = [(where, entries) for where, entries in places if entries is not None]
    if not found:
        return _singular(document, at, value, errors), []
    return _list(document, *found[0], (), errors), [where for where, _ in found[1:]]


def _singular(document: Document, at: At, value: Mapping[str, Any], errors: Errors) -> list[Item]:
    """`evaluator: llm_judge` and `rubrics:` of old cases."""
    items: list[Item] = []
    for key in ("evaluator", "rubrics"):
        entry: Any = value.get(key)
        if entry is None:
            continue
        kind = entry if isinstance(entry, str) and key == "evaluator" else "rubrics"
        items += _list(document, (*at, key), [{"type": kind, "name": key}], (), errors)
    return items


def _list(document: Document, at: At, entries: Any, chain: tuple[Path, ...], errors: Errors) -> list[Item]:
    items: list[Item] = []
    if not is_list(entries):
        errors.note(document.error(at, "evaluators must be a list"))
        return items
    for i, entry in enumerate(entries):
        with errors.noting():
            items += _items(document, (*at, i), entry, chain, errors)
        if errors.full:
            break
    return items


def _items(document: Document, at: At, entry: Any, chain: tuple[Path, ...], errors: Errors) -> list[Item]:
    """The evaluators of one entry. Raises: SpecError."""
    if isinstance(entry, str):
        # A plain string is a criterion for a model.
        return [Item({"type": "rubrics", "name": entry[:60]}, document, at)]
    if not is_object(entry):
        raise document.error(at, "an evaluator must be a mapping with a type, or a text")
    if "include" in entry and "type" not in entry:
        return _include(document, at, entry["include"], chain, errors)
    return [Item(_config(document, at, entry, chain), document, at)]


def _config(document: Document, at: At, entry: Mapping[str, Any], chain: tuple[Path, ...]) -> dict[str, Any]:
    """An evaluator's configuration in canonical spelling. Raises: SpecError for names unknown to every version."""
    written: Any = entry.get("type")
    if not isinstance(written, str):
        raise document.error((*at, "type"), "an evaluator needs a type")
    kind = type_name(written)
    negated = kind not in TYPES and kind.startswith(NOT) and kind.removeprefix(NOT) in TYPES
    if negated:
        kind = kind.removeprefix(NOT)
    if kind == "assert-set":
        kind, entry = "composite", _assert_set(entry)
    if kind not in TYPES and not _is_user_defined(written, document.path):
        raise document.error((*at, "type"), f"unknown evaluator type {written!r}", TYPES, written)
    known = keys_of(kind)
    errors = Errors()  # an evaluator with errors of its own is not built
    config: dict[str, Any] = {}
    for key, value in entry.items():
        name = snake(key)
        if known is not None and name not in known and kind in TYPES and not key.startswith("x-"):
            errors.note(document.error((*at, key), f"{kind} has no field {key!r}", known, key))
        config[name] = value
    config["type"] = kind
    if negated:
        config["negate"] = config.get("negate") is not True
    if not isinstance(config.get("name"), str | None):
        config["name"] = document.name((*at, "name"), config["name"]) or config["name"]
    if "name" not in config and isinstance(config.get("metric"), str):
        config["name"] = config["metric"]  # the key of the name since 5.x
    if is_list(config.get("expected")):
        config["expected"] = [
            _step(document, (*at, "expected", i), s, errors) for i, s in enumerate(config["expected"])
        ]
    if kind == "composite":
        key = next((name for name in LISTS if name in config), "assertions")
        members = _list(document, (*at, key), config.pop(key, []), chain, errors)
        config["assertions"] = [member.config for member in members]
    errors.check()
    return config


NOT = "not-"


def _assert_set(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """promptfoo's `assert-set` as a composite: all its members must pass, or with a `threshold` their mean reach it."""
    return entry if entry.get("threshold") is not None else {**entry, "aggregator": "all_or_nothing"}


def _step(document: Document, at: At, step: Any, errors: Errors) -> Any:
    if not is_object(step):
        return step
    return known_keys(document, at, step, STEP, "field of a step", errors)


def _include(document: Document, at: At, name: Any, chain: tuple[Path, ...], errors: Errors) -> list[Item]:
    """The assertions of a template: `.agentv/templates/<name>.yaml` in this folder or above, or a file."""
    if not isinstance(name, str) or not name:
        raise document.error(at, "include names a template or a file")
    if len(chain) >= MAX_INCLUDES:
        raise document.error(at, f"includes go at most {MAX_INCLUDES} deep")
    path = _template(document.path.parent, name)
    if path is None:
        raise document.error(at, f"the template {name!r} was not found in .agentv/templates, here or further up")
    if path in chain or path == document.path.resolve():
        raise document.error(at, f"the template {path} includes itself")
    other = fill_variables(read_yaml(path), os.environ)
    entries: Any = other.value.get("assertions", other.value.get("evaluators")) if is_object(other.value) else None
    if not is_list(entries):
        raise other.error((), "a template holds a list of assertions")
    key = "assertions" if "assertions" in other.value else "evaluators"
    return _list(other, (key,), entries, (*chain, path), errors)


def known_keys(
    document: Document, at: At, value: Mapping[str, Any], known: frozenset[str], noun: str, errors: Errors
) -> dict[str, Any]:
    """The mapping with canonical keys; each unknown key is noted as an error and left out."""
    out: dict[str, Any] = {}
    for key, member in value.items():
        name = snake(key)
        if name not in known and not key.startswith("x-"):
            errors.note(document.error((*at, key), f"unknown {noun} {key!r}", known, key))
        else:
            out[name] = member
    return out


def value_at(value: Any, at: Iterable[str | int]) -> Any:
    """The value at that location; None if there is none."""
    for key in at:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _template(folder: Path, name: str) -> Path | None:
    plain = "/" not in name and "\\" not in name and "." not in name
    here = folder.resolve()
    if not plain:
        candidates = [(root / name).resolve() for root in (here, *here.parents)]
    else:
        endings = (".yaml", ".yml")
        candidates = [root / ".agentv" / "templates" / (name + e) for root in (here, *here.parents) for e in endings]
    return next((path for path in candidates if is_file(path)), None)


def _is_user_defined(kind: str, path: Path) -> bool:
    """Whether a script defines an evaluator type: it is here, or the name is like that of no known type.

    AgentV accepts every name and looks for the script when it runs; a misspelt type must still be an error.
    """
    if _script_of(kind, path) is not None:
        return True
    return _TYPE_NAME.fullmatch(kind) is not None and kind not in SKIPPED and nearly(kind, TYPES) is None


def _script_of(kind: str, path: Path) -> Path | None:
    """The script of a user-defined evaluator type, `.agentv/assertions/<type>.*`, in this folder or above."""
    if kind in SKIPPED or "/" in kind or "\\" in kind:
        return None
    here = path.resolve().parent
    for root in (here, *here.parents):
        for ending in SCRIPTS:
            script = root / ".agentv" / "assertions" / (kind + ending)
            if is_file(script):
                return script
    return None
