"""Only one follower at a time writes into an output folder, whatever its name and wherever its cursors are."""

import os
from pathlib import Path

from agentv_stream.errors import AgentvStreamError
from agentv_stream.outputs.locks import LockTaken, take_lock
from agentv_stream.outputs.naming import CASE, LETTERS, RESULT, TRAJECTORY, TRANSCRIPT, prepare_folder

_OWN = (TRANSCRIPT, CASE, TRAJECTORY, LETTERS, RESULT)
"""Not raw logs: `run` gives agents' own streams that name, and no dialect matches ours."""


class FolderInUse(AgentvStreamError):
    """Another follower writes into the folder."""


def lock_folder(folder: Path) -> int | None:
    """A descriptor that locks the folder until it is closed; None if it cannot be created or locked.

    Two followers would write into each other's transcripts. The lock is on the folder itself: it needs no lock file and
    ends with its process. If a folder cannot be written yet, the outputs report it and wait.

    Raises: FolderInUse.
    """
    try:
        prepare_folder(folder)
        return take_lock(folder, folder=True)
    except LockTaken as error:
        raise FolderInUse(f"another follower writes into {folder}") from error
    except OSError:
        return None


class HeldFolders:
    """The folders that this follower writes into; each is locked from its first use until `close`."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], int] = {}  # device and inode: descriptor
        self._places: set[str] = set()  # the folders themselves, locked or not

    def hold(self, folder: Path) -> None:
        """Raises: FolderInUse."""
        self._places.add(os.path.realpath(folder))
        try:
            stat = folder.stat()
        except OSError:
            stat = None  # it will be created, or waited for
        if stat is not None and (stat.st_dev, stat.st_ino) in self._held:
            return
        descriptor = lock_folder(folder)
        if descriptor is not None:
            stat = os.fstat(descriptor)
            self._held[stat.st_dev, stat.st_ino] = descriptor

    def made_here(self, path: str) -> bool:
        """Whether a file has an output's name and is in a folder of this follower: following it would never end."""
        return path.endswith(_OWN) and os.path.realpath(os.path.dirname(path)) in self._places  # noqa: PTH120 - per file

    def close(self) -> None:
        while self._held:
            os.close(self._held.popitem()[1])
