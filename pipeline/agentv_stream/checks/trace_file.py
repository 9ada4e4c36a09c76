"""Trace events of checked sources: a file for each source, which appears when the source was read to its end."""

import os
from pathlib import Path

from agentv_stages.model.batch import Batch
from agentv_stages.sinks.suffixes import TRACE
from agentv_stages.trajectory.trace_events import render
from agentv_stream.errors import SinkError
from agentv_stream.outputs.forms import stem_in
from agentv_stream.outputs.naming import prepare_folder


class TraceFile:
    """A watcher: writes the trace events of each batch. `names` holds those of other sources of a run."""

    def __init__(self, folder: Path, source: Path, names: set[str]) -> None:
        stem = stem_in(source.name) or source.name.partition(".json")[0] or "source"
        number = 1
        while (name := f"{stem}{'' if number == 1 else f'-{number}'}{TRACE}") in names:
            number += 1
        names.add(name)
        self._place = folder / name
        self._part = folder / f".{name}.part"
        try:
            prepare_folder(folder)
            self._part.unlink(missing_ok=True)
            self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        except OSError as error:
            raise SinkError(str(self._place), error) from error

    def observe(self, batch: Batch) -> None:
        """Raises: SinkError."""
        try:
            self._file.write(render(batch))
        except OSError as error:
            raise SinkError(str(self._place), error) from error

    def close(self, whole: bool) -> None:
        """Publishes the file, or removes the part of a source that could not be read. Raises: SinkError."""
        try:
            self._file.close()
            if whole:
                self._part.replace(self._place)
            else:
                self._part.unlink(missing_ok=True)
        except OSError as error:
            raise SinkError(str(self._place), error) from error
