"""Reads spec files, ours and AgentV's of any version, into cases whose evaluators can be built repeatedly.

`evalcases` or `tests` (inline, or in a separate file, JSONL too), `evaluators`, `execution.evaluators`, `assert` or
`assertions`, of the file and of each case; `include:` of templates. A name unknown to every version is an error with
its line.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from agentv_stages.trajectory import Case, Context, Evaluator
from agentv_stages.trajectory.config import spelled
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stream.checks.case_rows import csv_document, scenario_cases
from agentv_stream.checks.spec_doubts import NO_WEIGHT, doubts, weightless
from agentv_stream.checks.spec_evaluators import Item, items_of, known_keys, make, mistakes_of, value_at
from agentv_stream.checks.spec_globs import IS_GLOB, files_of
from agentv_stream.checks.spec_names import CASE, EXECUTION, TOP, snake
from agentv_stream.checks.spec_tools import is_known, own_tools
from agentv_stream.checks.variables import fill_variables, unfilled
from agentv_stream.checks.yaml_lines import At, Document, Errors, SpecError, read_jsonl, read_yaml
from agentv_stream.discovery.header import dialect_of
from agentv_stream.errors import UsageError
from agentv_stream.sources.files import is_file, is_folder, is_there

CASE_LISTS = ("tests", "evalcases", "eval_cases", "cases")
FILE = "file://"
STREAMS = ("all", "main")
COMPAT = ("agentv",)
OWN_SCHEMA = re.compile(rb'\s*\{\s*"schema_version":\s*"(agentv_stream\.[a-z_.0-9]+)"')


@dataclass
class SpecCase:
    """A case of a spec. `target` is the target that it is meant for; `prompt` its input, if that is plain text;
    `left_out` counts tool calls of its expected messages that name no tool."""

    id: str
    items: list[Item]
    context: Context
    target: str | None = None
    prompt: str | None = None
    left_out: int = 0

    @property
    def places(self) -> list[tuple[str, int]]:
        """File and line of each evaluator."""
        return [(str(item.document.path), item.document.line(item.at)) for item in self.items]

    def build(self) -> Case:
        """A fresh case, for one stream. Raises: SpecError."""
        return Case(
            self.id, [make(item, self.context) for item in self.items], self.context.threshold, self.context.compat
        )


@dataclass
class Spec:
    """A spec file. `warnings` are for people, each with file and line.

    `whole`: it has only assertions, so that its one case applies to every source. `strange_tools` are names of tools
    in its rules that no known agent has.
    """

    path: Path
    cases: list[SpecCase] = field(default_factory=list[SpecCase])
    warnings: list[str] = field(default_factory=list[str])
    whole: bool = False
    strange_tools: list[str] = field(default_factory=list[str])

    def judges(self) -> bool:
        """Whether anything is judged here: not if all evaluators need a model or a script."""
        return any(isinstance(member, Evaluator) for case in self.cases for member in case.build().members)

    def select(self, case: str | None) -> list[SpecCase]:
        """All cases, or the named one. Raises: SpecError for a name that no case has."""
        if case is None:
            return self.cases
        found = [c for c in self.cases if c.id == case]
        if not found:
            known = Document(self.path, None)
            raise known.error((), f"no case is called {case!r}", [c.id for c in self.cases], case)
        return found


def load_spec(path: str | Path, threshold: float | None = None) -> Spec:
    """Reads and checks a spec file; every evaluator is built once, so that errors are found here.

    The spec's `cases` are built for each stream: `case.build()` gives a `Case`, which takes events (`push`) or batches.
    `threshold` overrides those of the file.

    Raises: SpecError (a UsageError that begins with file and line), the first one, with the others as `further`;
    UsageError for another threshold than one from 0 to 1.
    """
    path = Path(path)
    if threshold is not None and not _is_share(threshold):
        raise UsageError(f"the threshold must be a number from 0 to 1, not {threshold}")
    if "\0" in str(path):
        raise SpecError(f"{str(path)!r}: the name of a file contains no null byte")
    try:
        return _Loader(path, threshold).load()
    except SpecError as error:
        own = _own_schema(path)
        if own is not None:
            raise SpecError(f"{path} is an output of ours ({own}), not a spec") from error
        log = dialect_of(path)
        if log is None:
            raise
        raise SpecError(
            f"{path} is a log ({log}), not a spec; `check` takes the spec first: check SPEC.yaml LOG…"
        ) from error


def _own_schema(path: Path) -> str | None:
    """The schema named at the beginning of an output of ours."""
    try:
        with path.open("rb") as file:
            found = OWN_SCHEMA.match(file.read(200))
    except OSError:
        return None
    return found.group(1).decode("ascii") if found is not None else None


def check_judges(specs: Sequence[Spec]) -> None:
    """Raises: UsageError if the specs judge nothing, so that every run would pass."""
    if specs and not any(spec.judges() for spec in specs):
        names = ", ".join(str(spec.path) for spec in specs)
        raise UsageError(f"{names}: judges nothing here; all its evaluators are skipped, or it has none")


class _Loader:
    def __init__(self, path: Path, threshold: float | None) -> None:
        self.spec = Spec(path)
        self.threshold = threshold
        self.errors = Errors()
        self.top = Document(path, {})
        self.places: list[tuple[Document, At]] = []  # the location of each case of the spec

    def load(self) -> Spec:
        path = self.spec.path
        if path.suffix == ".jsonl":
            self._cases(self._lines(path), {}, [])
            return self._checked()
        document = fill_variables(read_yaml(path), os.environ)
        if not is_object(document.value):
            raise document.error((), "a spec must be a mapping with tests (or evalcases)")
        if "criteria" in document.value and not any(name in document.value for name in CASE_LISTS):
            # One case in a file of its own, as a folder of cases has them.
            named = {"id": path.parent.name if path.stem == "case" else path.stem, **document.value}
            document.value = named
            self._cases([(document, ())], {}, [])
            return self._checked()
        self.top = document
        top = known_keys(document, (), document.value, TOP, "field of a spec", self.errors)
        suite = self._items(document, (), top)
        suite += self._default_test(document, top.get("default_test"))
        execution = self._execution(document, (), top)
        found = [name for name in CASE_LISTS if name in top]
        if not found and "scenarios" not in top:
            if not suite:
                self.errors.check()
                raise document.error((), "the spec has neither tests (or evalcases) nor assertions")
            # A spec with only assertions is one case that applies to every source.
            entry = (document, (), {"id": path.name.split(".")[0]})
            self.spec.whole = True
            with self.errors.noting():
                self._case(entry, top, execution, suite)
            return self._checked()
        entries = self._entries(document, (found[0],), top[found[0]]) if found else []
        entries += self._scenarios(document, ("scenarios",), top.get("scenarios"))
        self._cases(entries, top, suite, execution)
        return self._checked()

    def _scenarios(self, document: Document, at: At, value: Any) -> list[tuple[Document, At]]:
        """The cases of scenarios, which are in this file or in files that it names."""
        if value is None:
            return []
        if not is_list(value):
            raise document.error(at, "scenarios must be a list")
        entries: list[tuple[Document, At]] = []
        for i, item in enumerate(value):
            with self.errors.noting():
                if not isinstance(item, str):
                    entries += scenario_cases(document, (*at, i), item)
                    continue
                for path in self._named_files(document, (*at, i), item.removeprefix(FILE)):
                    other = fill_variables(read_yaml(path), os.environ)
                    inner: At = ("scenarios",) if is_object(other.value) else ()
                    entries += self._scenarios(other, inner, value_at(other.value, inner))
        return entries

    def _named_files(self, document: Document, at: At, name: str) -> list[Path]:
        """The files of a name or a glob, relative to the document. Raises: SpecError for a name that no file has."""
        path = (document.path.parent / name).resolve()
        if is_file(path):
            return [path]
        if not IS_GLOB.search(name):
            raise document.error(at, f"the file {path} does not exist")
        files = files_of(document.path.parent, name)
        if not files:
            self._warn(document, at, f"no file is called {name}")
        return files

    def _default_test(self, document: Document, default: Any) -> list[Item]:
        """The settings that apply to all cases: a mapping, or the name of a file that holds it."""
        if default is None:
            return []
        if isinstance(default, str):
            path = (document.path.parent / default.removeprefix(FILE)).resolve()
            if not is_file(path):
                self._warn(document, ("default_test",), f"the file {path} does not exist: default_test is left out")
                return []
            other = fill_variables(read_yaml(path), os.environ)
            if is_object(other.value):
                return self._items(other, (), other.value)
            raise other.error((), "default_test must be a mapping with assertions")
        if not is_object(default):
            raise document.error(("default_test",), "default_test must be a mapping with assertions")
        return self._items(document, ("default_test",), default)

    def _lines(self, path: Path) -> list[tuple[Document, At]]:
        """The cases of a JSONL file."""
        return [(fill_variables(line, os.environ), ()) for line in read_jsonl(path, self.errors)]

    def _checked(self) -> Spec:
        items = (item.document for case in self.spec.cases for item in case.items)
        every = chain((self.top,), (document for document, _ in self.places), items)
        for document in {id(document): document for document in every}.values():
            for where, text in unfilled(document):
                self._warn(document, where, text)
        own = own_tools((item.config, case.context) for case in self.spec.cases for item in case.items)
        self.spec.strange_tools = sorted(name for name in own if not is_known(name))
        seen: dict[str, str] = {}
        for case, (document, at) in zip(self.spec.cases, self.places, strict=True):
            place = f"{document.path}:{document.line(at)}"
            if case.id in seen:
                text = f"{place}: two cases are called {case.id!r}; the other one is {seen[case.id]}"
                self.errors.note(SpecError(text))
            seen.setdefault(case.id, place)
            weights: list[float] = []
            for item in case.items:
                mistakes = mistakes_of(item, case.context)
                for mistake in mistakes:
                    self.errors.note(mistake)
                if not mistakes:
                    member = make(item, case.context)
                    weights += [member.terms.weight] if isinstance(member, Evaluator) else []
                    for doubt in doubts(item.config, case.context, case.left_out, own):
                        self._warn(item.document, item.at, doubt)
            if weightless(weights):
                self._warn(document, at, f"the case {case.id!r}: {NO_WEIGHT}")
        self.errors.check()
        if not self.spec.cases:
            raise SpecError(f"{self.spec.path}:1: the spec has no cases")
        return self.spec

    def _warn(self, document: Document, at: At, text: str) -> None:
        """Notes, once, that something is valid, but not what its author must have meant."""
        warning = f"{document.path}:{document.line(at)}: {text}"
        if warning not in self.spec.warnings:
            self.spec.warnings.append(warning)

    def _items(self, document: Document, at: At, value: Mapping[str, Any]) -> list[Item]:
        """The evaluators of the first list that a case or a file has, as in AgentV."""
        items, others = items_of(document, at, value, self.errors)
        for other in others:
            self._warn(document, other, "these evaluators are not used: another list of them goes before")
        return items

    # --- cases

    def _entries(self, document: Document, at: At, value: Any) -> list[tuple[Document, At]]:
        """The places of the cases: in this file, or in files that it names."""
        if isinstance(value, str):
            return self._external(document, at, value)
        if not is_list(value):
            raise document.error(at, f"{at[-1]} must be a list of cases, or the name of a file of cases")
        entries: list[tuple[Document, At]] = []
        for i, item in enumerate(value):
            if isinstance(item, str) and item.startswith(FILE):
                with self.errors.noting():
                    entries += self._external(document, (*at, i), item)
            elif is_object(item) and isinstance(item.get("include"), str) and "id" not in item:
                with self.errors.noting():
                    entries += self._external(document, (*at, i), str(item["include"]))
            elif is_object(item):
                entries.append((document, (*at, i)))
            else:
                self.errors.note(
                    document.error((*at, i), "a case must be a mapping, or file://NAME of a file of cases")
                )
        return entries

    def _external(self, document: Document, at: At, name: str) -> list[tuple[Document, At]]:
        name = name.removeprefix(FILE)
        path = (document.path.parent / name).resolve()
        if not is_there(path) and IS_GLOB.search(name):
            files = files_of(document.path.parent, name)
            if not files:
                self._warn(document, at, f"no file is called {name}")
            return [entry for file in files for entry in self._file_entries(document, at, file)]
        if is_folder(path):
            files = sorted(
                p for p in path.iterdir() if p.name in ("case.yaml", "case.yml") or p.suffix in (".yaml", ".yml")
            )
            entries = [entry for file in files for entry in self._file_entries(document, at, file)]
            for file in sorted(path.glob("*/case.y*ml")):
                for other, place in self._file_entries(document, at, file):
                    if place == () and is_object(other.value) and other.value.get("id") is None:
                        other.value = {**other.value, "id": file.parent.name}  # as in AgentV
                    entries.append((other, place))
            return entries
        return self._file_entries(document, at, path)

    def _file_entries(self, document: Document, at: At, path: Path) -> list[tuple[Document, At]]:
        if path.suffix not in (".yaml", ".yml", ".jsonl", ".json", ".csv"):
            raise document.error(at, f"cases are in .yaml, .yml, .jsonl or .csv files, not in {path.name}")
        if not is_file(path):
            raise document.error(at, f"the file of cases {path} does not exist")
        if path.suffix == ".jsonl":
            return self._lines(path)
        other = fill_variables(csv_document(path) if path.suffix == ".csv" else read_yaml(path), os.environ)
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
        top: Mapping[str, Any],
        suite: Sequence[Item],
        execution: Mapping[str, Any] | None = None,
    ) -> None:
        for document, at in entries:
            if self.errors.full:
                break
            value = value_at(document.value, at)
            if not is_object(value):
                self.errors.note(document.error(at, "a case must be a mapping"))
                continue
            case = known_keys(document, at, value, CASE, "field of a case", self.errors)
            with self.errors.noting():
                self._case((document, at, case), top, execution or {}, suite)

    def _case(
        self,
        entry: tuple[Document, At, Mapping[str, Any]],
        top: Mapping[str, Any],
        outer: Mapping[str, Any],
        suite: Sequence[Item],
    ) -> None:
        document, at, case = entry
        key = next((key for key in ("id", "eval_id", "test_id", "name", "description") if key in case), None)
        name = None if key is None else document.name((*at, key), case[key])
        if name is None:
            raise document.error(at if key is None else (*at, key), "a case needs an id")
        execution = self._execution(document, at, case)
        items = self._items(document, at, case)
        items += [] if execution.get("skip_defaults") is True else suite
        if not items and case.get("criteria") is None:
            self._warn(document, at, f"the case {name!r} has no evaluators")
        inside, around = "execution", self.top
        places: Places = (
            (case, document, at),
            (execution, document, (*at, inside)),
            (top, around, ()),
            (outer, around, (inside,)),
        )
        threshold = _checked(places, "threshold", _is_share, "threshold must be a number from 0 to 1")
        streams = _checked(places, "streams", lambda v: v in ("all", "main"), "streams must be all or main", STREAMS)
        compat = _checked(places, "compat", lambda v: v in ("agentv", True, False), "compat must be agentv", COMPAT)
        calls, left_out = _expected_calls({**top, **case})
        context = Context(
            threshold=self.threshold if self.threshold is not None else threshold,
            compat=compat in ("agentv", True),
            all_streams=None if streams is None else streams == "all",
            expected_calls=tuple(calls),
            of_spec=threshold is not None,
        )
        target = _first_name(places, "target")
        if target is None:
            several = _first(places, "providers")
            target = several[0] if is_list(several) and len(several) == 1 else None
        given_vars: Any = case.get("vars")
        prompt = case.get("input", given_vars.get("input") if is_object(given_vars) else top.get("input"))
        self.places.append((document, at))
        self.spec.cases.append(
            SpecCase(
                name,
                items,
                context,
                target if isinstance(target, str) else None,
                prompt if isinstance(prompt, str) else None,
                left_out,
            )
        )

    def _execution(self, document: Document, at: At, value: Mapping[str, Any]) -> Mapping[str, Any]:
        execution: Any = value.get("execution")
        if execution is None:
            return {}
        if not is_object(execution):
            raise document.error((*at, "execution"), "execution must be a mapping")
        read = known_keys(document, (*at, "execution"), execution, EXECUTION, "field of execution", self.errors)
        if not isinstance(read.get("skip_defaults"), bool | None):
            key = next(key for key in execution if snake(key) == "skip_defaults")
            raise document.error((*at, "execution", key), "skip_defaults must be true or false")
        return read


Places: TypeAlias = Sequence[tuple[Mapping[str, Any], Document, At]]
"""Where a setting may be found, the nearest first."""


def _first(places: Places, key: str) -> Any:
    return next((place[key] for place, _, _ in places if place.get(key) is not None), None)


def _first_name(places: Places, key: str) -> str | None:
    found = ((document.name((*at, key), place[key])) for place, document, at in places if place.get(key) is not None)
    return next(found, None)


def _checked(places: Places, key: str, fits: Callable[[Any], bool], need: str, known: Sequence[str] = ()) -> Any:
    """The nearest value of a setting. Raises: SpecError if any of them is not allowed."""
    for place, document, at in places:
        value = spelled(place.get(key))
        if value is not None and not fits(value):
            wrong = value if isinstance(value, str) and known else None
            raise document.error((*at, key), f"{need}, not {value!r}", known, wrong)
    return spelled(_first(places, key))


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _expected_calls(case: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], int]:
    """The tool calls within expected messages, flattened, and how many are left out because they name no tool."""
    for key in ("expected_messages", "expected_output", "expected_tool_calls"):
        messages: Any = case.get(key)
        found: list[Any] = []
        for message in messages if is_list(messages) else []:
            if is_object(message):
                inner: Any = message.get("tool_calls", [message] if "tool" in message else [])
                found += inner if is_list(inner) else [inner]
        calls = [call for call in found if is_object(call) and isinstance(call.get("tool"), str)]
        if found:
            return calls, len(found) - len(calls)
    return [], 0
