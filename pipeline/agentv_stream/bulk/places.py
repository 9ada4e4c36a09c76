"""The places where a bulk run writes, by the name of the output: `transcripts`, `trajectories`, `pages`, `jsonl`,
`parquet`, `otel-file`."""

import glob
import tempfile
from pathlib import Path

from agentv_stages.model.payload import printable_path
from agentv_stream.bulk import leaving, object_store
from agentv_stream.bulk.manifest import MACHINE
from agentv_stream.bulk.unit import Unit
from agentv_stream.discovery.own_files import what_would_be_lost
from agentv_stream.errors import SinkError, UsageError
from agentv_stream.outputs.naming import TRAJECTORY, TRANSCRIPT, prepare_folder, safe_part
from agentv_stream.outputs.publish import own_descriptor
from agentv_stream.sources.files import is_file, is_folder, is_there

_FOLDERS = {"transcripts": TRANSCRIPT, "trajectories": TRAJECTORY, "pages": ".html"}
"""Outputs that are a folder with a file per session -> the suffix of these files."""

_FILES = {"jsonl": "the results need one", "otel-file": "the spans need one"}
"""Outputs that are a file."""

_OPTIONS = {"transcripts": "out", "trajectories": "atif"}


def dataset_place(place: str, machine: str | None) -> str:
    """The data set at a place, or the part of it that a machine writes: several machines write into one data set."""
    place = absolute(place)
    return place if machine is None else object_store.join(place, f"{MACHINE}{safe_part(machine)}")


def absolute(place: str) -> str:
    """URLs unchanged; paths as absolute ones, so that they mean the same to a worker elsewhere."""
    if object_store.is_url(place):
        return place
    return str(Path(object_store.plain(place)).absolute())


def check_places(places: dict[str, str]) -> None:
    """Checks in advance what would otherwise fail only after all was read. Raises: UsageError, SinkError."""
    for name, place in places.items():
        if object_store.is_url(place):
            continue
        if printable_path(place) != place:
            raise UsageError(f"{printable_path(place)}: import writes to names in UTF-8 only; it reads any")
        path = Path(place)
        shown = place if name in _FILES else place.partition("{provider}")[0].rstrip("/") or "/"
        folder = path.parent if name in _FILES else Path(shown)
        if name in _FILES and (own_descriptor(path) is not None or (is_there(path) and not is_file(path))):
            raise UsageError(f"--{name}: {place} is not a file; {_FILES[name]}, beside which the state is kept")
        if name in _FILES and is_file(path) and (valuable := what_would_be_lost(name, path)) is not None:
            raise UsageError(f"--{name}: {place} is {valuable}, which would be lost; give another file")
        if name not in _FILES and is_there(folder) and not is_folder(folder):
            raise UsageError(f"--{_OPTIONS.get(name, name)}: {shown} is not a folder")
        try:
            prepare_folder(folder)
            with tempfile.NamedTemporaryFile(prefix=".", suffix=".tmp", dir=folder):
                pass
        except OSError as error:
            raise SinkError(shown, error) from error


def state_place(places: dict[str, str]) -> str:
    """The place of a run's progress: in the data set, or in an output folder, or beside the JSONL."""
    if "parquet" in places:
        return object_store.join(places["parquet"], "_state")
    for name in _FOLDERS:
        if name in places:
            head, varies, _ = places[name].partition("{provider}")
            return object_store.join(head.rpartition("/")[0] if varies else head, "_state")
    return next(places[name] for name in _FILES if name in places) + ".state"


def sweep_left(run: str, state: str, places: dict[str, str]) -> None:
    """Removes the half-written files of the previous run if it was killed, and nothing of other programs.

    The caller must hold the state: then all such files in it and in the data set are ours.
    """
    for place in (state, object_store.join(state, "done"), places.get("parquet", "")):
        if place and not object_store.is_url(place):
            leaving.sweep(Path(place), "put")
    if not run:
        return
    for file in (places.get(name, "") for name in _FILES):
        if file and not object_store.is_url(file):
            leaving.sweep(Path(file).parent, run)
    for name in _FOLDERS:
        place = places.get(name, "")
        if place and not object_store.is_url(place):
            pattern = glob.escape(place).replace("{provider}", "*")
            for folder in (pattern, f"{pattern}/*.dead"):
                for found in glob.glob(folder):  # noqa: PTH207 - an absolute pattern
                    leaving.sweep(Path(found), run)


def is_output(unit: Unit, places: dict[str, str]) -> bool:
    """Whether a file found in a folder was written there by an earlier run of this import."""
    if not unit.in_folder:
        return False
    for file in (places[name] for name in _FILES if name in places):
        if unit.source == file or unit.source.startswith(f"{file}.state/"):
            return True
    for name, suffix in _FOLDERS.items():
        folder = places.get(name, "").partition("{provider}")[0]
        if folder and unit.source.endswith(suffix) and unit.source.startswith(f"{folder.rstrip('/')}/"):
            return True
    return False
