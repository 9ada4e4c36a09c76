"""Cases that a spec holds in another form: rows of a CSV file, and scenarios. Out: documents that hold case mappings.

Source: AgentV 5.3 (`case-file-loader`, `lowerScenariosIntoTests`) and promptfoo, whose CSV columns they are.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stream.checks.yaml_lines import At, Document, read_text

_EXPECTED = re.compile(r"((?:not-)?[a-z][a-z0-9-]*)(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?", re.DOTALL)
_SCRIPTS = {"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "python:": "python"}
_GRADERS = ("grade:", "llm-rubric:")
_TYPES = frozenset(
    (
        *("contains", "contains-any", "contains-all", "icontains", "icontains-any", "icontains-all", "starts-with"),
        *("ends-with", "regex", "is-json", "equals", "latency", "cost"),
    )
)
_LIMITS = {"latency": "threshold", "cost": "budget"}  # the field that takes the number in `cost(0.5)`
_MERGED = ("vars", "metadata", "options", "run")


def csv_document(path: Path) -> Document:
    """The rows of a CSV file as a list of cases. Columns without a meaning of their own are variables of the prompt.

    Raises: SpecError.
    """
    document = Document(path, [])
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        first = next(reader, list[str]())
        header = [name.strip() for name in first]
        line = reader.line_num
        for cells in reader:
            begin, line = line + 1, reader.line_num
            if any(cells):
                at: At = (len(document.value),)
                document.lines[at] = begin
                row = {name: cell for name, cell in zip(header, cells, strict=False) if name}
                document.value.append(_case_of(document, at, row))
    except csv.Error as error:
        document.lines[()] = reader.line_num
        raise document.error((), f"is not CSV: {error}") from error
    return document


def _case_of(document: Document, at: At, row: Mapping[str, str]) -> dict[str, Any]:
    case: dict[str, Any] = {"id": row.get("id", "").strip() or f"row-{at[0] + 1}"}  # type: ignore[operator]  # a number
    variables = {name: cell for name, cell in row.items() if name[:2] != "__" and name not in ("id", "input")}
    if "input" in row:
        case["input"] = row.get("__prefix", "") + row["input"] + row.get("__suffix", "")
    if row.get("__description"):
        case["criteria"] = row["__description"]
    if row.get("__threshold", "").strip():
        case["threshold"] = _number(document, at, "__threshold", row["__threshold"])
    if variables:
        case["vars"] = variables
    found = [name for name in row if re.fullmatch(r"__expected\d*", name) and row[name].strip()]
    checks = [_assertion(document, at, row[name].strip()) for name in found]
    for name, check in zip(found, checks, strict=True):
        least = row.get(f"__config:{name}:threshold", "").strip()
        if least:
            check["min_score"] = _number(document, at, "threshold", least)
    metric = row.get("__metric")
    for number, check in enumerate(checks, 1):
        if metric:
            check["name"] = metric if len(checks) == 1 else f"{metric}-{number}"
    return {**case, "assert": checks} if checks else case


def _number(document: Document, at: At, column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise document.error(at, f"{column} must be a number, got {text!r}") from None


def _assertion(document: Document, at: At, text: str) -> dict[str, Any]:
    """The assertion in a cell `__expected`: `contains-any: a, b`, `cost(0.5)`, or a text that the answer equals."""
    for prefix in _GRADERS:
        if text.startswith(prefix):
            return {"type": "llm-grader", "prompt": text.removeprefix(prefix).strip()}
    for prefix, kind in _SCRIPTS.items():
        if text.startswith(prefix):
            return {"type": kind, "value": text.removeprefix(prefix).strip()}
    if text.startswith("file://"):
        return {"type": "script", "value": text.removeprefix("file://").strip()}
    found = _EXPECTED.fullmatch(text)
    if found is None:
        return {"type": "equals", "value": text}
    written, number, value = found[1], found[2], found[3]
    kind = written.removeprefix("not-")
    if kind not in _TYPES:
        if number is None and value is None:  # a word, not a type
            return {"type": "equals", "value": text}
        raise document.error(at, f"unknown assertion {kind!r} in a column __expected", sorted(_TYPES), kind)
    if kind in _LIMITS and number is None:
        raise document.error(at, f"{kind} in a column __expected needs its limit, like {kind}(1)")
    check: dict[str, Any] = {"type": written}
    if number is not None:
        check[_LIMITS.get(kind, "min_score")] = float(number)
    if kind.endswith(("-any", "-all")):
        check["value"] = [part.strip() for part in (value or "").split(",") if part.strip()]
    elif value is not None:
        check["value"] = value.strip()
    return check


def scenario_cases(document: Document, at: At, scenario: Any) -> Iterator[tuple[Document, At]]:
    """The cases of a scenario: each test with each entry of its `config`.

    A test that several entries share keeps its id for the first of them; later ones get `__2`, `__3`…

    Raises: SpecError for a scenario of another form.
    """
    if not is_object(scenario) or not all(is_list(scenario.get(key)) for key in ("config", "tests")):
        raise document.error(at, "a scenario has a list `config` and a list `tests`")
    configs: list[Any] = scenario["config"]
    tests: list[Any] = scenario["tests"]
    for i, config in enumerate(configs):
        for j, test in enumerate(tests):
            for key, value, number in (("config", config, i), ("tests", test, j)):
                if not is_object(value):
                    raise document.error((*at, key, number), f"an entry of {key} must be a mapping")
            merged = _merged(config, test)
            place: At = (*at, "tests", j)
            name = document.name((*place, "id"), test.get("id"))
            if name is not None:
                merged["id"] = f"{name}__{i + 1}" if i else name
            elif isinstance(config.get("id"), str):
                merged["id"] = config["id"] if len(tests) == 1 else f"{config['id']}__scenario_test_{j + 1}"
            else:
                merged["id"] = f"scenario-{int(at[-1]) + 1 if at else 1}-{i + 1}-{j + 1}"
            yield _placed(document, place, merged), ()


def _merged(config: Mapping[str, Any], test: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {**config, **test}
    for key in _MERGED:
        if is_object(config.get(key)) and is_object(test.get(key)):
            merged[key] = {**config[key], **test[key]}
    both = [part for part in (config.get("assert"), test.get("assert")) if part is not None]
    if len(both) == 2:
        merged["assert"] = [item for part in both for item in (part if is_list(part) else [part])]
    return merged


def _placed(document: Document, at: At, value: dict[str, Any]) -> Document:
    """A document of its own for a value made from one at `at`, whose lines it has."""
    lines = {place[len(at) :]: line for place, line in document.lines.items() if place[: len(at)] == at}
    return Document(document.path, value, {(): document.line(at), **lines}, unset=document.unset)
