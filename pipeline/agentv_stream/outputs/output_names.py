"""One name for all outputs of a session, not used by other runs; and files that begin before it is known.

The name contains the session's start and id. A stream log cannot wait for them: it begins under a preliminary name, and
is moved beside the transcript when that is opened.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from agentv_stages.sinks.transcript import Identity
from agentv_stream.outputs.naming import CASE, LETTERS, RAW_LOG, SUMMARY_LOG, TRAJECTORY, TRANSCRIPT, free_name
from agentv_stream.outputs.transcript_file import is_of_session

_SUFFIXES = (TRANSCRIPT, CASE, TRAJECTORY, LETTERS, RAW_LOG, SUMMARY_LOG)


class OutputNames:
    """`propose` returns folder, name and identity from the facts of the session so far.

    `finished`: the outputs of an earlier reading of the same session are replaced; otherwise an existing name gets
    `-2`. `fixed`: the name was requested and is used even if it exists. `sure`: the first settled name is final;
    otherwise it may change until the transcript has its file. `whole` returns, at the end, whether all was read: if
    not, outputs of an earlier reading are kept. Methods access the disk.
    """

    def __init__(
        self,
        propose: Callable[[], tuple[Path, str, Identity]],
        *,
        finished: bool,
        fixed: bool = False,
        sure: bool = False,
        whole: Callable[[], bool] = lambda: True,
    ) -> None:
        self.propose = propose
        self.sure = sure
        self.kept = False  # an output of an earlier reading was kept instead of this one's
        self._whole = whole
        self._finished = finished
        self._fixed = fixed
        self._settled: tuple[Path, str] | None = None
        self._begun: dict[str, Path] = {}
        self._settling = threading.Lock()  # sinks call from different threads

    @property
    def exclusive(self) -> bool:
        """Whether an existing file of the same name must belong to another program."""
        return not (self._finished or self._fixed)

    def place(self) -> tuple[Path, str, Identity]:
        """Folder and name, settled by the first call for all outputs, and the identity as known so far."""
        folder, name, identity = self.propose()
        with self._settling:
            if self._settled is None:
                self._settled = folder, self._free(folder, name, identity)
        return *self._settled, identity

    def file(self, suffix: str) -> Path:
        """The path of the output with that suffix, under the settled name."""
        folder, name = self._settled or self.place()[:2]
        return folder / f"{name}{suffix}"

    def another(self, suffix: str) -> Path:
        """As `file`, under another name: another process took this one at the same moment.

        Later outputs also get that name, unless the transcript already has one.
        """
        if self.sure and self._settled is not None:
            return free_name(*self._settled, suffix)
        self._settled = None
        return self.file(suffix)

    def keeps(self, earlier: Path) -> bool:
        """Whether an earlier reading's output is kept: it may hold more than this reading, which ended early."""
        keeps = self._finished and not self._whole() and os.path.lexists(earlier)
        self.kept = self.kept or keeps
        return keeps

    def appear(self, written: Path, suffix: str) -> Path | None:
        """Moves a finished file to its name: an earlier reading's, or an unused one; returns None if that one `keeps`.

        Raises: OSError.
        """
        path = self.file(suffix)
        if self.keeps(path):
            written.unlink()
            return None
        if not self.exclusive:
            return written.replace(path)
        while True:
            try:
                os.link(written, path)  # unlike a rename it replaces nothing
            except FileExistsError:
                path = self.another(suffix)
            except OSError:  # a file system without links
                return written.replace(path)
            else:
                written.unlink()
                return path

    def early(self, suffix: str) -> Path:
        """The path of a file that begins before the name is known; when called later, its final path.

        Until then it contains the process's number, so that it does not collide with another run.
        """
        if not self.exclusive or self.sure:
            return self.file(suffix)
        if suffix not in self._begun:
            folder, name, _ = self.propose()
            self._begun[suffix] = free_name(folder, f"{name}.{os.getpid()}", suffix)
        return self._begun[suffix]

    def another_early(self, suffix: str) -> Path:
        """As `early`, under another name."""
        self._begun.pop(suffix, None)
        self._settled = None
        return self.early(suffix)

    def _free(self, folder: Path, name: str, identity: Identity) -> str:
        if self._fixed:
            return name
        transcript = folder / f"{name}{TRANSCRIPT}"
        if self._finished and (not os.path.lexists(transcript) or is_of_session(transcript, identity.session_id)):
            return name
        tried, n = name, 2
        while any(os.path.lexists(folder / f"{tried}{suffix}") for suffix in _SUFFIXES):
            tried = f"{name}-{n}"
            n += 1
        return tried
