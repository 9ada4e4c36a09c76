"""Finds the files that a session's spans and log records are spread over.

An exporter rotates its file, and has one file for each signal. Files of one folder that have a trace or a conversation
in common are read as one: the first of them by name, those with spans before those with log records alone, which may
say nothing by themselves. So a span that is in two of them counts once.

Folders that are named for a signal, a date or a partition (`traces`, `2026-11-29`, `hour=03`) are one with those beside
them: the collector's exporter to S3 writes a folder for each minute.

Only the first 64 MiB of a file are searched for ids.
"""

import posixpath
import re

from agentv_stages.model.provider import Companion, DecodeContext, Folder

_PATTERNS = ("*.json", "*.jsonl", "*.ndjson")
_HEAD = 4096
_WHOLE = 64 * 1024 * 1024
_MOST_FILES = 1_000
_EXPORT = re.compile(rb'"(?:resource_?[sS]pans|resource_?[lL]ogs|batches|traceID)"')
_SPANS = re.compile(rb'"(?:resource_?[sS]pans|batches|traceID)"')
_TRACE = re.compile(rb'"trace_?I[dD]"\s*:\s*"([^"\\]{8,64})"')
_CONVERSATION = re.compile(
    rb'"key"\s*:\s*"(?:gen_ai\.conversation\.id|session\.id|conversation\.id)"\s*,'
    rb'\s*"value"\s*:\s*\{\s*"stringValue"\s*:\s*"([^"\\]{1,200})"'
)
_PART = re.compile(r"traces|spans|logs|metrics|[A-Za-z_]+=.*|[\d.:_T-]*\d[\d.:_T-]*Z?")
"""The name of a folder that has a part of an export."""


def companions(path: str, folder: Folder) -> list[Companion]:
    """The files that continue the one of `path`, in order; none if it continues another one."""
    place, depth = posixpath.dirname(path), 0
    while _PART.fullmatch(posixpath.basename(place)):
        place, depth = posixpath.dirname(place), depth + 1
    groups = folder.remembered(f"otlp files {depth} {place}", lambda: _groups(place, depth, folder))
    others = next((group[1:] for group in groups if group[0] == path), ())
    return [Companion(other, DecodeContext(other, further=True)) for other in others]


def _groups(place: str, depth: int, folder: Folder) -> list[list[str]]:
    """The files below a folder that belong together, sorted; files that stand alone are left out."""
    below = posixpath.join(place, "*/" * depth)
    listed = {file for pattern in _PATTERNS for file in folder.glob(below + pattern)}
    found = sorted(file for file in listed if _is_part(file.removeprefix(place).strip("/")))
    exports = [file for file in found[:_MOST_FILES] if _EXPORT.search(folder.read(file, _HEAD))]
    if len(exports) < 2:
        return []
    groups: list[tuple[set[bytes], list[str]]] = []
    for file in exports:
        known, files = _ids(folder.read(file, _WHOLE)), [file]
        for group in [group for group in groups if not group[0].isdisjoint(known)]:
            groups.remove(group)
            known |= group[0]
            files += group[1]
        groups.append((known, files))
    spans = {file for file in exports if _SPANS.search(folder.read(file, _HEAD))}
    return [sorted(files, key=lambda file: (file not in spans, file)) for _, files in groups if len(files) > 1]


def _is_part(path: str) -> bool:
    return all(map(_PART.fullmatch, path.split("/")[:-1]))


def _ids(data: bytes) -> set[bytes]:
    return {*_TRACE.findall(data), *_CONVERSATION.findall(data)}
