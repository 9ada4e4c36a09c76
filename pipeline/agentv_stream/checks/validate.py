"""Distinguishes specs from targets files and checks them for errors."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentv_stages.model.payload import indented_json
from agentv_stages.model.visible import counted, visible
from agentv_stages.trajectory.case import Member, Skipped
from agentv_stages.trajectory.composite import Composite
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stages.trajectory.limits import Forbid
from agentv_stream.checks.spec import load_spec
from agentv_stream.checks.targets import load_targets
from agentv_stream.checks.yaml_lines import MOST_ERRORS, SpecError, read_yaml

SCHEMA = "agentv_stream.validation.v1"


def validate_file(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The kind of the file (`kind`, and the number of things of each sort in it), and its warnings. Raises:
    SpecError.
    """
    if path.suffix != ".jsonl" and is_targets(path):
        found = load_targets(path)
        agents = sum(target.why_not is None for target in found.targets.values())
        return {"kind": "targets", "targets": len(found.targets), "agents": agents}, found.warnings
    spec = load_spec(path)
    members = [member for case in spec.cases for member in case.build().members]
    skipped = [member for member in members if isinstance(member, Skipped)]
    counts: dict[str, Any] = {"kind": "spec", "cases": len(spec.cases), "evaluators": len(members)}
    counts["skipped"] = len(skipped)
    counts["skip_reasons"] = {member.terms.type: member.reason for member in skipped}
    unknown = [f"{path}: {text}" for member in members for text in _without_session(member)]
    if spec.strange_tools:
        tools = ", ".join(spec.strange_tools[:10]) + (", …" if len(spec.strange_tools) > 10 else "")
        unknown.append(f"{path}: no known agent has these tools, so rules about them match none of its calls: {tools}")
    return counts, [*spec.warnings, *dict.fromkeys(unknown)]


def _without_session(member: Member) -> list[str]:
    """Parts of an evaluator's `forbid` rules that only logs of some sessions can match."""
    if isinstance(member, Skipped):
        return []
    if isinstance(member.rule, Composite):
        return [text for inner in member.rule.evaluators for text in _without_session(inner)]
    return member.rule.warnings() if isinstance(member.rule, Forbid) else []


def summary_of(facts: dict[str, Any]) -> str:
    """A one-line description of a file, for people."""
    if facts["kind"] == "targets":
        return f"targets file, {counted(facts['targets'], 'target')}, {facts['agents']} of them agents"
    text = f"spec, {counted(facts['cases'], 'case')}, {counted(facts['evaluators'], 'evaluator')}"
    reasons = ", ".join(f"{visible(kind, 40)} ({reason})" for kind, reason in sorted(facts["skip_reasons"].items()))
    return text + (f", {facts['skipped']} of them skipped: {reasons}" if reasons else "")


def file_json(path: Path, found: tuple[dict[str, Any], list[str]] | SpecError) -> dict[str, Any]:
    """A file as a member of `report_json`; `found` is what `validate_file` returned or raised."""
    if isinstance(found, SpecError):
        errors = [_finding(path, error.message) for error in (found, *found.further)]
        more = len(errors) >= MOST_ERRORS
        return {"file": str(path), "kind": None, "errors": errors, "errors_truncated": more, "warnings": []}
    facts, warnings = found
    notes = [_finding(path, text) for text in warnings]
    return {"file": str(path), **facts, "errors": [], "errors_truncated": False, "warnings": notes}


def report_json(files: Sequence[dict[str, Any]]) -> bytes:
    """All files as one indented JSON object with a line end."""
    wrong = sum(bool(file["errors"]) for file in files)
    return indented_json({"schema_version": SCHEMA, "valid": not wrong, "files": files})


def _finding(path: Path, text: str) -> dict[str, Any]:
    """A message split into file, line and text; the file may be a file of cases named by the spec."""
    at = re.match(rf"({re.escape(str(path))}|.+?):(\d{{1,9}}): ", text, re.DOTALL)
    if at is not None:
        return {"file": at[1], "line": int(at[2]), "message": text[at.end() :]}
    return {"file": str(path), "line": None, "message": text.removeprefix(f"{path}: ")}


def is_targets(path: Path) -> bool:
    """Whether a YAML file is a targets file: by its content, or by its name if the content does not decide."""
    value = read_yaml(path).value
    if not is_object(value):
        return path.name.startswith(("targets.", "providers."))
    if any(key in value for key in ("tests", "evalcases", "eval_cases", "assertions", "assert")):
        return False
    # `targets` of a spec are also a list; in a file of that name it may be anything that shall be one.
    return is_list(value.get("targets", value.get("providers"))) or (
        path.name.startswith("targets.") and ("targets" in value or "providers" in value)
    )
