"""Reads spec files, AgentV's of any version and ours, into cases whose evaluators can be built again and again.

`evalcases` or `tests` (in the file, in a file of its own, JSONL too), `evaluators`, `execution.evaluators`, `assert` or
`assertions`, of the file and of each case; `include:` of templates. What a name of no version is, is an error with its
line.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentv_stages.trajectory import Case, ConfigError, Context, Member, build
from agentv_stages.trajectory.build import SCRIPT, SKIPPED
from agentv_stages.trajectory.case import Skipped
from agentv_stages.trajectory.evaluator import Terms
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stream.checks.spec_names import CASE, EXECUTION, STEP, TOP, TYPES, keys_of, snake, type_name
from agentv_stream.checks.yaml_lines import At, Document, SpecError, read_jsonl, read_yaml

MAX_INCLUDES = 3
LISTS = ("assertions", "assert", "evaluators")
CASE_LISTS = ("tests", "evalcases", "eval_cases", "cases")
FILE = "file://"
SCRIPTS = (".ts", ".js", ".mts", ".mjs", ".cts", ".cjs", ".py")


@dataclass(frozen=True)
class Item:
    """One evaluator as it was read: its configuration in canonical spelling, and where it stands."""

    config: Mapping[str, Any]
    document: Document
    at: At


@dataclass
class SpecCase:
    """A case of a spec. `target` is the target that it is meant for; `prompt` its input, where that is a plain text."""

    id: str
    items: list[Item]
    context: Context
    target: str | None = None
    prompt: str | None = None

    def build(self) -> Case:
        """A fresh case, for one stream. Raises: SpecError."""
        return Case(
            self.id, [make(item, self.context) for item in self.items], self.context.threshold, self.context.compat
        )


@dataclass
class Spec:
    """A spec file. `warnings` are for people, each with file and line."""

    path: Path
    cases: list[SpecCase] = field(default_factory=list[SpecCase])
    warnings: list[str] = field(default_factory=list[str])

    def select(self, case: str | None) -> list[SpecCase]:
        """All cases, or the one that is named. Raises: SpecError for a name that no case has."""
        if case is None:
            return self.cases
        found = [c for c in self.cases if c.id == case]
        if not found:
            known = Document(self.path, None)
            raise known.error((), f"no case is called {case!r}", [c.id for c in self.cases], case)
        return found


def load_spec(path: Path, threshold: float | None = None) -> Spec:
    """Reads and checks a spec; every evaluator is built once, so that what is wrong shows here.

    `threshold` (of the command line) goes before those of the file. Raises: SpecError.
    """
    return _Loader(path, threshold).load()


def make(item: Item, context: Context) -> Member:
    """Builds an evaluator. Raises: SpecError."""
    kind = str(item.config["type"])
    if kind not in TYPES and _script_of(kind, item.document.path) is not None:
        return Skipped(Terms(str(item.config.get("name", kind)), kind), SCRIPT)
    try:
        return build(item.config, context)
    except ConfigError as error:
        wrong = _value_at(item.config, error.path)
        shown = wrong if isinstance(wrong, str) and error.known else None
        at = (*item.at, *error.path)
        raise item.document.error(at, error.message, error.known, shown) from error


class _Loader:
    def __init__(self, path: Path, threshold: float | None) -> None:
        self.spec = Spec(path)
        self.threshold = threshold

    def load(self) -> Spec:
        path = self.spec.path
        if path.suffix == ".jsonl":
            self._cases([(d, ()) for d in read_jsonl(path)], Document(path, {}), {}, [])
            return self._checked()
        document = read_yaml(path)
        if not is_object(document.value):
            raise document.error((), "a spec is a mapping with tests (or evalcases)")
        top = self._known(document, (), document.value, TOP, "field of a spec")
        suite, _ = self._items(document, (), top)
        default: Any = top.get("default_test")
        if is_object(default):
            suite += self._items(document, ("default_test",), default)[0]
        execution = self._execution(document, (), top)
        found = [name for name in CASE_LISTS if name in top]
        if not found:
            if not suite:
                raise document.error((), "the spec has neither tests (or evalcases) nor assertions")
            # A spec of assertions alone is one case for every source.
            entry = (document, (), {"id": path.name.split(".")[0]})
            self._case(entry, top, execution, suite)
            return self._checked()
        entries = self._entries(document, (found[0],), top[found[0]])
        self._cases(entries, document, top, suite, execution)
        return self._checked()

    def _checked(self) -> Spec:
        seen: dict[str, int] = {}
        for case in self.spec.cases:
            seen[case.id] = seen.get(case.id, 0) + 1
            if seen[case.id] > 1:
                raise SpecError(f"{self.spec.path}: two cases are called {case.id!r}")
            case.build()
        if not self.spec.cases:
            raise SpecError(f"{self.spec.path}:1: the spec has no cases")
        return self.spec

    # --- cases

    def _entries(self, document: Document, at: At, value: Any) -> list[tuple[Document, At]]:
        """Where the cases stand: in this file, or in files that it names."""
        if isinstance(value, str):
            return self._external(document, at, value)
        if not is_list(value):
            raise document.error(at, f"{at[-1]} is a list of cases, or the name of a file of cases")
        entries: list[tuple[Document, At]] = []
        for i, item in enumerate(value):
            if isinstance(item, str) and item.startswith(FILE):
                entries += self._external(document, (*at, i), item)
            elif is_object(item) and isinstance(item.get("include"), str) and "id" not in item:
                entries += self._external(document, (*at, i), str(item["include"]))
            elif is_object(item):
                entries.append((document, (*at, i)))
            else:
                raise document.error((*at, i), "a case is a mapping, or file://NAME of a file of cases")
        return entries

    def _external(self, document: Document, at: At, name: str) -> list[tuple[Document, At]]:
        path = (document.path.parent / name.removeprefix(FILE)).resolve()
        if path.is_dir():
            files = sorted(
                p for p in path.iterdir() if p.name in ("case.yaml", "case.yml") or p.suffix in (".yaml", ".yml")
            )
            files += sorted(p for p in path.glob("*/case.y*ml"))
            return [entry for file in files for entry in self._file_entries(document, at, file)]
        return self._file_entries(document, at, path)

    def _file_entries(self, document: Document, at: At, path: Path) -> list[tuple[Document, At]]:
        if path.suffix not in (".yaml", ".yml", ".jsonl", ".json"):
            raise document.error(at, f"cases stand in .yaml, .yml or .jsonl files, not in {path.name}")
        if not path.is_file():
            raise document.error(at, f"the file of cases {path} does not exist")
        if path.suffix == ".jsonl":
            return [(d, ()) for d in read_jsonl(path)]
        other = read_yaml(path)
        if is_list(other.value):
            return [(other, (i,)) for i in range(len(other.value))]
        if is_object(other.value):
            for name in CASE_LISTS:
                if is_list(other.value.get(name)):
                    return [(other, (name, i)) for i in range(len(other.value[name]))]
            return [(other, ())]
        raise other.error((), "a file of cases holds a list of cases, or one case")

    def _cases(
        self,
        entries: Iterable[tuple[Document, At]],
        top_document: Document,
        top: Mapping[str, Any],
        suite: Sequence[Item],
        execution: Mapping[str, Any] | None = None,
    ) -> None:
        for document, at in entries:
            value = _value_at(document.value, at)
            if not is_object(value):
                raise document.error(at, "a case is a mapping")
            case = self._known(document, at, value, CASE, "field of a case")
            self._case((document, at, case), top, execution or {}, suite)

    def _case(
        self,
        entry: tuple[Document, At, Mapping[str, Any]],
        top: Mapping[str, Any],
        outer: Mapping[str, Any],
        suite: Sequence[Item],
    ) -> None:
        document, at, case = entry
        name = next((case[key] for key in ("id", "eval_id", "test_id", "name", "description") if key in case), None)
        if not isinstance(name, str | int) or isinstance(name, bool) or not str(name).strip():
            raise document.error(at, "a case needs an id")
        execution = self._execution(document, at, case)
        items, given = self._items(document, at, case)
        items += [] if execution.get("skip_defaults") is True else suite
        if not given and not items and case.get("criteria") is None:
            self.spec.warnings.append(f"{document.path}:{document.line(at)}: the case {name!r} has no evaluators")
        places: tuple[Mapping[str, Any], ...] = (case, execution, top, outer)
        threshold = self.threshold
        if threshold is None:
            threshold = self._number(document, at, places, "threshold")
        streams = _first(places, "streams")
        context = Context(
            threshold=threshold,
            compat=_first(places, "compat") in ("agentv", True),
            all_streams=None if streams is None else streams == "all",
            expected_calls=tuple(_expected_calls({**top, **case})),
        )
        target = _first(places, "target")
        if target is None:
            several = _first(places, "providers")
            target = several[0] if is_list(several) and len(several) == 1 else None
        given_vars: Any = case.get("vars")
        prompt = case.get("input", given_vars.get("input") if is_object(given_vars) else top.get("input"))
        self.spec.cases.append(
            SpecCase(
                str(name),
                items,
                context,
                target if isinstance(target, str) else None,
                prompt if isinstance(prompt, str) else None,
            )
        )

    def _number(self, document: Document, at: At, places: Sequence[Mapping[str, Any]], key: str) -> float | None:
        value = _first(places, key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise document.error((*at, key), f"{key} is a number from 0 to 1")
        return float(value)

    def _execution(self, document: Document, at: At, value: Mapping[str, Any]) -> Mapping[str, Any]:
        execution: Any = value.get("execution")
        if execution is None:
            return {}
        if not is_object(execution):
            raise document.error((*at, "execution"), "execution is a mapping")
        return self._known(document, (*at, "execution"), execution, EXECUTION, "field of execution")

    # --- evaluators

    def _items(self, document: Document, at: At, value: Mapping[str, Any]) -> tuple[list[Item], bool]:
        """The evaluators of a case or a file, and whether any list of them was there; the first list that is there
        holds."""
        execution: Any = value.get("execution")
        places: list[tuple[At, Any]] = [((*at, name), value.get(name)) for name in LISTS[:2]]
        if is_object(execution):
            places += [
                ((*at, "execution", name), execution.get(name)) for name in ("assertions", "assert", "evaluators")
            ]
        places.append(((*at, "evaluators"), value.get("evaluators")))
        for where, entries in places:
            if entries is not None:
                return self._list(document, where, entries, ()), True
        items = self._singular(document, at, value)
        return items, bool(items)

    def _singular(self, document: Document, at: At, value: Mapping[str, Any]) -> list[Item]:
        """`evaluator: llm_judge` and `rubrics:` of old cases."""
        items: list[Item] = []
        for key in ("evaluator", "rubrics"):
            entry: Any = value.get(key)
            if entry is None:
                continue
            kind = entry if isinstance(entry, str) and key == "evaluator" else "rubrics"
            items += self._list(document, (*at, key), [{"type": kind, "name": key}], ())
        return items

    def _list(self, document: Document, at: At, entries: Any, chain: tuple[Path, ...]) -> list[Item]:
        if not is_list(entries):
            raise document.error(at, "evaluators are a list")
        items: list[Item] = []
        for i, entry in enumerate(entries):
            where = (*at, i)
            if isinstance(entry, str):
                # A plain text is a criterion for a model.
                items.append(Item({"type": "rubrics", "name": entry[:60]}, document, where))
            elif is_object(entry) and "include" in entry and "type" not in entry:
                items += self._include(document, where, entry["include"], chain)
            elif is_object(entry):
                items.append(Item(self._config(document, where, entry, chain), document, where))
            else:
                raise document.error(where, "an evaluator is a mapping with a type, or a text")
        return items

    def _config(self, document: Document, at: At, entry: Mapping[str, Any], chain: tuple[Path, ...]) -> dict[str, Any]:
        """An evaluator's configuration in canonical spelling. Raises: SpecError for names that no version has."""
        written: Any = entry.get("type")
        if not isinstance(written, str):
            raise document.error((*at, "type"), "an evaluator needs a type", TYPES, "")
        kind = type_name(written)
        if kind not in TYPES and _script_of(written, document.path) is None:
            raise document.error((*at, "type"), f"no version has an evaluator {written!r}", TYPES, written)
        known = keys_of(kind)
        config: dict[str, Any] = {}
        for key, value in entry.items():
            name = snake(key)
            if known is not None and name not in known and kind in TYPES and not key.startswith("x-"):
                raise document.error((*at, key), f"{kind} has no field {key!r}", known, key)
            config[name] = value
        config["type"] = kind
        if "name" not in config and isinstance(config.get("metric"), str):
            config["name"] = config["metric"]  # the name's name since 5.x
        if is_list(config.get("expected")):
            config["expected"] = [
                self._step(document, (*at, "expected", i), s) for i, s in enumerate(config["expected"])
            ]
        if kind == "composite":
            key = next((name for name in LISTS if name in config), "assertions")
            members = self._list(document, (*at, key), config.pop(key, []), chain)
            config["assertions"] = [member.config for member in members]
        return config

    def _step(self, document: Document, at: At, step: Any) -> Any:
        if not is_object(step):
            return step
        return self._known(document, at, step, STEP, "field of a step")

    def _include(self, document: Document, at: At, name: Any, chain: tuple[Path, ...]) -> list[Item]:
        """The assertions of a template: `.agentv/templates/<name>.yaml` from here up, or a file."""
        if not isinstance(name, str) or not name:
            raise document.error(at, "include names a template or a file")
        if len(chain) >= MAX_INCLUDES:
            raise document.error(at, f"includes go at most {MAX_INCLUDES} deep")
        path = _template(document.path.parent, name)
        if path is None:
            raise document.error(at, f"the template {name!r} was not found in .agentv/templates, here or further up")
        if path in chain or path == document.path.resolve():
            raise document.error(at, f"the template {path} includes itself")
        other = read_yaml(path)
        entries: Any = other.value.get("assertions", other.value.get("evaluators")) if is_object(other.value) else None
        if not is_list(entries):
            raise other.error((), "a template holds a list of assertions")
        key = "assertions" if "assertions" in other.value else "evaluators"
        return self._list(other, (key,), entries, (*chain, path))

    def _known(
        self, document: Document, at: At, value: Mapping[str, Any], known: frozenset[str], what: str
    ) -> dict[str, Any]:
        """The mapping with canonical keys. Raises: SpecError for a key that no version has."""
        out: dict[str, Any] = {}
        for key, member in value.items():
            name = snake(key)
            if name not in known and not key.startswith("x-"):
                raise document.error((*at, key), f"no version has a {what} {key!r}", known, key)
            out[name] = member
        return out


def _first(places: Sequence[Mapping[str, Any]], key: str) -> Any:
    for place in places:
        if place.get(key) is not None:
            return place[key]
    return None


def _expected_calls(case: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool calls inline in expected messages, flattened."""
    calls: list[Mapping[str, Any]] = []
    for key in ("expected_messages", "expected_output", "expected_tool_calls"):
        messages: Any = case.get(key)
        for message in messages if is_list(messages) else []:
            if not is_object(message):
                continue
            inner: Any = message.get("tool_calls", [message] if "tool" in message else [])
            calls += (
                [call for call in inner if is_object(call) and isinstance(call.get("tool"), str)]
                if is_list(inner)
                else []
            )
        if calls:
            return calls
    return calls


def _value_at(value: Any, at: Iterable[str | int]) -> Any:
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
    return next((path for path in candidates if path.is_file()), None)


def _script_of(kind: str, path: Path) -> Path | None:
    """The script of an evaluator type of the user's own, `.agentv/assertions/<type>.*`, from here up."""
    if kind in SKIPPED or "/" in kind or "\\" in kind:
        return None
    here = path.resolve().parent
    for root in (here, *here.parents):
        for ending in SCRIPTS:
            script = root / ".agentv" / "assertions" / (kind + ending)
            if script.is_file():
                return script
    return None
