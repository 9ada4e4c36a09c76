"""Limits the disk space of outputs: those of sessions at rest are removed, the oldest first. Cursors stay."""

import time
from collections.abc import Callable
from pathlib import Path

from agentv_stream.errors import UsageError
from agentv_stream.following.cursor_database import CursorError
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_outputs import SUFFIXES
from agentv_stream.sources.files import is_file
from agentv_stream.units import bytes_of, is_duration, is_size, seconds_of


def keep_rule(text: str) -> Callable[[Follower], None]:
    """`30d`: removes outputs not written to for that long. `5G`: removes the oldest until the rest fits.

    Raises: UsageError.
    """
    by_age = is_duration(text)
    if not (by_age or is_size(text)):
        raise UsageError(f"--keep {text!r}: expected an age (30d) or a size (5G)")
    most = seconds_of(text) if by_age else bytes_of(text)
    kept: dict[Path, str] = {}  # outputs that cannot be removed, and why; reported once

    def keep(follower: Follower) -> None:
        busy = {str(s.outputs.state.path("")) for s in follower.hot.values() if s.outputs and s.outputs.state}
        groups: list[tuple[float, int, list[Path]]] = []
        for transcript in follower.taken:
            base = transcript.removesuffix(SUFFIXES[0])
            if base in busy:
                continue
            files = [path for path in (Path(base + suffix) for suffix in SUFFIXES) if is_file(path)]
            try:
                files += [path for path in sorted(Path(base + ".dead").glob("*.bin")) if is_file(path)]
                stats = [path.stat() for path in files]
            except OSError:
                continue  # removed meanwhile, or in a folder that may not be entered
            if stats:
                groups.append((max(s.st_mtime for s in stats), sum(s.st_size for s in stats), files))
        groups.sort(key=lambda group: group[0])
        total = sum(size for _, size, _ in groups)
        for written, size, files in groups:
            if (time.time() - written if by_age else total) <= most:
                break
            try:
                for path in files:
                    follower.repair.removed(path)
                    path.unlink(missing_ok=True)
                    if follower.store is not None:
                        follower.store.claims.unmade(path)
            except (OSError, CursorError) as error:
                if kept.get(files[0]) != str(error):
                    follower.say("outputs cannot be removed", path=str(files[0]), error=str(error))
                kept[files[0]] = str(error)
                continue
            kept.pop(files[0], None)
            total -= size
            follower.say("outputs removed by --keep", path=str(files[0]), bytes=size)

    return keep
