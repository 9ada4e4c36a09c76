"""Attempt numbers: each run into a folder gets its own, even of runs started at the same moment."""

import os
from pathlib import Path
from typing import Any

from agentv_stages.model.payload import decode_json, printable_path
from agentv_stages.trajectory.json_values import is_object
from agentv_stream.errors import SinkError, UsageError
from agentv_stream.outputs.naming import prepare_folder, safe_part
from agentv_stream.sources.files import is_folder


def stem_of(task: str, approach: str, attempt: int | str) -> str:
    """The common beginning of the names of all files of an attempt."""
    return f"{safe_part(task)}_{safe_part(approach)}_{attempt}"


def free_attempt(folder: Path, task: str, approach: str) -> int:
    """The first number from 1 under which nothing is stored."""
    stem = stem_of(task, approach, "")
    used: set[int] = set()
    for path in folder.glob(f"{stem}*") if is_folder(folder) else ():
        number = path.name[len(stem) :].split(".")[0]
        if number.isascii() and number.isdigit():
            used.add(int(number))
    return next(n for n in range(1, len(used) + 2) if n not in used)


def claim_attempt(folder: Path, task: str, approach: str) -> int:
    """Claims the next free number, so that concurrent runs into one folder get different ones; the claim is the
    standard error file, still empty. Raises: SinkError."""
    try:
        prepare_folder(folder)
        while True:
            number = free_attempt(folder, task, approach)
            stem = stem_of(task, approach, number)
            claim = folder / f"{stem}.stderr.log"
            try:
                os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                continue
            if not any(folder.glob(f"{stem}.*json*")):
                return number
            claim.unlink()  # another run took it and ended meanwhile
    except OSError as error:
        raise SinkError(str(folder), error) from error


def check_attempt(folder: Path, task: str, approach: str, attempt: int) -> None:
    """An attempt replaces an earlier one of its number, but not one of another task or approach that has the same name
    in files: they lack most signs and foreign letters. Raises: UsageError."""
    path = folder / f"{stem_of(task, approach, attempt)}.json"
    try:
        value: Any = decode_json(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return  # there is none
    ours = printable_path(task), printable_path(approach)  # names need not be UTF-8
    other = (value.get("task_id"), value.get("approach")) if is_object(value) else ours
    if other != ours:
        names = f"of the task {other[0]!r} with the approach {other[1]!r}"
        raise UsageError(f"--attempt {attempt}: {path} is the result {names}, and would be lost; give another --out")
