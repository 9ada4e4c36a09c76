"""Bounds the disk that outputs take: those of sessions at rest are removed, the oldest first. Cursors stay."""

import re
import time
from collections.abc import Callable
from pathlib import Path

from agentv_stream.errors import UsageError
from agentv_stream.files import is_file
from agentv_stream.following.cursor_database import CursorError
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_outputs import SUFFIXES

_RULE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]|[KMGT])B?")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def keep_rule(text: str) -> Callable[[Follower], None]:
    """`30d`: what was not written to for so long goes. `5G`: the oldest goes until the rest fits.

    Raises: UsageError.
    """
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--keep {text!r}: expected an age (30d) or a size (5G)")
    number, unit = float(match[1]), match[2]
    kept: dict[Path, str] = {}  # what cannot be removed, and why; told once

    def keep(follower: Follower) -> None:
        busy = {str(s.outputs.state.path("")) for s in follower.hot.values() if s.outputs and s.outputs.state}
        groups: list[tuple[float, int, list[Path]]] = []
        for transcript in follower.taken:
            base = transcript.removesuffix(SUFFIXES[0])
            if base in busy:
                continue
            files = [path for path in (Path(base + suffix) for suffix in SUFFIXES) if is_file(path)]
            files += [path for path in sorted(Path(base + ".dead").glob("*.bin")) if is_file(path)]
            try:
                stats = [path.stat() for path in files]
            except OSError:
                continue  # gone meanwhile
            if stats:
                groups.append((max(s.st_mtime for s in stats), sum(s.st_size for s in stats), files))
        groups.sort(key=lambda group: group[0])
        total = sum(size for _, size, _ in groups)
        for written, size, files in groups:
            over = (
                time.time() - written > number * _SECONDS[unit] if unit in _SECONDS else total > number * _BYTES[unit]
            )
            if not over:
                break
            try:
                for path in files:
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
