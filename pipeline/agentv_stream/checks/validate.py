"""Tells specs from targets files and reads them for what is wrong."""

from pathlib import Path

from agentv_stages.trajectory.case import Skipped
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stages.visible import counted
from agentv_stream.checks.spec import load_spec
from agentv_stream.checks.targets import load_targets
from agentv_stream.checks.yaml_lines import read_yaml


def validate_file(path: Path) -> tuple[str, list[str]]:
    """What the file is, in one line, and its warnings. Raises: SpecError."""
    if path.suffix != ".jsonl" and is_targets(path):
        found = load_targets(path)
        runnable = sum(target.why_not is None for target in found.targets.values())
        return f"targets file, {counted(len(found.targets), 'target')}, {runnable} of them agents", found.warnings
    spec = load_spec(path)
    members = [member for case in spec.cases for member in case.build().members]
    skipped = sum(isinstance(member, Skipped) for member in members)
    said = f"spec, {counted(len(spec.cases), 'case')}, {counted(len(members), 'evaluator')}"
    return said + (f", {skipped} of them skipped" if skipped else ""), spec.warnings


def is_targets(path: Path) -> bool:
    """Whether a YAML file is a targets file: by its content, else by its name."""
    value = read_yaml(path).value
    if not is_object(value):
        return path.name.startswith("targets.")
    entries = value.get("targets", value.get("providers"))
    return is_list(entries) and not any(
        key in value for key in ("tests", "evalcases", "eval_cases", "assertions", "assert")
    )
