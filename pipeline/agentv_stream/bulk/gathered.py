"""Outputs that a bulk worker writes piece by piece and publishes as a whole."""

import os
from pathlib import Path

from agentv_stream.bulk import leaving, object_store
from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import prepare_folder

WRITE_BYTES = 1024 * 1024


class Gathered:
    """An output held in memory up to 1 MiB, then in a hidden file; `folder` is a folder or a URL.

    `run` identifies the writer: its leftovers, if it is killed, have that mark.
    """

    def __init__(self, folder: str, run: str, local: str | None = None) -> None:
        """`local`: the hidden file in which another process of this run began, as `hand_on` returned it."""
        self._folder = folder
        self._run = run
        self._parts: list[bytes] = []
        self._size = 0
        self._local = Path(local) if local is not None else None
        self._file: int | None = None
        if self._local is not None:
            leaving.known(self._local)

    def write(self, data: bytes) -> None:
        """Raises: SinkError."""
        self._parts.append(data)
        self._size += len(data)
        if self._size >= WRITE_BYTES:
            try:
                self._spill()
            except OSError as error:
                raise self._failure(error) from error

    def publish(self, place: str, patched: tuple[int, bytes] | None = None) -> None:
        """Moves it to its place, with some bytes replaced: (offset, bytes). Raises: SinkError."""
        if self._local is None:
            data = b"".join(self._parts)
            if patched is not None:
                at, members = patched
                data = data[:at] + members + data[at + len(members) :]
            object_store.put(place, data, self._run)
            return
        try:
            file = self._spill()
            if patched is not None:
                os.pwrite(file, patched[1], patched[0])
            self._leave()
            if not object_store.is_url(place):
                prepare_folder(Path(place).parent)
        except OSError as error:
            raise self._failure(error) from error
        object_store.put_file(self._local, place)
        self._local = None

    def abandon(self) -> None:
        """Discards everything."""
        self._leave()
        if self._local is not None:
            self._local.unlink(missing_ok=True)
            leaving.settled(self._local)

    def hand_on(self) -> Path:
        """For another process to continue writing: moves everything into the hidden file, and returns its path.
        Raises: SinkError."""
        try:
            self._spill()
            self._leave()
        except OSError as error:
            raise self._failure(error) from error
        assert self._local is not None
        return self._local

    def _spill(self) -> int:
        """Writes the bytes in memory to the file; returns its descriptor. Raises: OSError."""
        if self._local is None:
            folder = None if object_store.is_url(self._folder) else Path(self._folder)
            if folder is not None:
                prepare_folder(folder)
            self._local, self._file = leaving.make_temporary(folder, self._run)
        elif self._file is None:
            self._file = os.open(self._local, os.O_WRONLY)
            os.lseek(self._file, 0, os.SEEK_END)
        assert self._file is not None
        view = memoryview(b"".join(self._parts))
        while view:
            view = view[os.write(self._file, view) :]
        self._parts, self._size = [], 0
        return self._file

    def _leave(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)

    def _failure(self, error: OSError) -> SinkError:
        return SinkError(str(self._local or self._folder), error)
