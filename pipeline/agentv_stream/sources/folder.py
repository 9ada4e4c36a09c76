"""The file system as providers see it when they look for sub-agents' files."""

import glob
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from agentv_stages.model.payload import printable_path
from agentv_stages.model.provider import Companion, DecodeContext, Folder, Kept, Provider, no_companions
from agentv_stream.sources.files import first_unpacked, is_file
from agentv_stream.sources.kept_outputs import kept_outputs
from agentv_stream.sources.packed_folder import packed_companions


class LocalFolder:
    """Local files. A path that cannot be read is empty, not an error: it may have been removed meanwhile."""

    def glob(self, pattern: str) -> list[str]:
        """Matching files, sorted; `**` matches at any depth. The part before the first star is taken literally."""
        head, star, rest = pattern.partition("*")
        folder, _, tail = head.rpartition("/")
        found = glob.glob(f"{tail}{star}{rest}", root_dir=folder or None, recursive=True)  # noqa: PTH207 - Path.glob refuses absolute patterns
        paths = (f"{folder}/{name}" if folder else name for name in found)
        return sorted(path for path in paths if is_file(path))

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` decompressed bytes; none of a pipe or a device, which may have no end, or no writer."""
        try:
            if not is_file(path):
                return b""
            with Path(path).open("rb") as file:
                return first_unpacked(file, path, limit)
        except OSError:
            return b""

    def remembered(self, key: str, make: Callable[[], Kept]) -> Kept:
        """Returns the value of `make` now: files may have changed."""
        return make()


def companions_of(
    provider: Provider, path: str, subagents: bool = True, folder: Folder | None = None
) -> list[Companion]:
    """The further files of a session's log, then, with `subagents`, those of its sub-agents, in a fixed order.

    `folder` defaults to the local disk. Providers recognise a log by the folders in its path, so on disk they are given
    the absolute path; files below the current folder are returned as relative paths if the log's path was relative.
    """
    found = packed_companions(provider, path, folder) if folder is not None else _local_companions(provider, path)
    if provider.kept_outputs is not None:
        found = [_with_outputs(provider, companion) for companion in found]
    return found if subagents else [companion for companion in found if companion.context.further]


def _with_outputs(provider: Provider, companion: Companion) -> Companion:
    return Companion(companion.path, replace(companion.context, kept=kept_outputs(provider, companion.path)))


def parts_of(
    provider: Provider, path: str, subagents: bool, folder: Folder | None = None
) -> tuple[list[str], list[str]]:
    """The files that are read with a session's log, and those of sub-agents that may seem sessions and are left out."""
    found = companions_of(provider, path, True, folder)
    read = [part.path for part in found if subagents or part.context.further]
    return read, [part.path for part in found if part.path not in read] if may_be_companions(provider) else []


def _local_companions(provider: Provider, path: str) -> list[Companion]:
    whole = _whole(path)
    found = packed_companions(provider, whole, LocalFolder())
    head = whole.removesuffix(path) if whole != path else ""
    return [_named(companion, companion.path.removeprefix(head)) for companion in found] if head[-1:] == "/" else found


def _named(companion: Companion, path: str) -> Companion:
    return Companion(path, replace(companion.context, file=path))


def may_be_companions(provider: Provider) -> bool:
    """Whether a file that looks like a session of its own may belong to another one."""
    return provider.companions is not no_companions and not provider.telling_names


def context_of(provider: Provider, path: str, folder: Folder | None = None) -> DecodeContext:
    """The decode context of a main file; `folder` defaults to the local disk."""
    whole, folder = _whole(path) if folder is None else path, folder or LocalFolder()
    context, kept = provider.context(whole, folder), kept_outputs(provider, whole)
    history = partial(provider.history, whole, folder) if provider.history is not None else None
    return replace(context, file=path, place=printable_path(whole), kept=kept, history=history)


def _whole(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - Path.absolute would keep `..`
