"""Lists all files below the roots, at once or in slices between which growing logs are read.

In: roots and single files. Out: the files found, by path. A listing in slices is as old as its first slice: before
opening a new file, check it again (`fresh`).
"""

import os
import time
from collections.abc import Callable, Iterator

from agentv_stream.discovery.places import Found, Root, Signature, registered, signature_of, walk
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.stored import Stores, is_stored

PATIENCE = 32  # files between two checks of the clock


class Scan:
    """One listing after the other; `go_on` works on the next one, `take` returns it."""

    def __init__(self, plan: Plan, stores: Stores) -> None:
        self._plan = plan
        self._stores = stores
        self._running: Iterator[Found] | None = None
        self._found: dict[str, Found] = {}
        self._sliced = False

    def go_on(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> bool:
        """Lists for about `seconds`; returns whether all is listed."""
        self._sliced = True
        if self._running is None:
            self._running = self._walk()
        end = clock() + seconds
        for n, listed in enumerate(self._running):
            self._found.setdefault(listed.path, listed)
            if n % PATIENCE == PATIENCE - 1 and clock() >= end:
                return False
        self._running = iter(())
        return True

    def take(self) -> dict[str, Found]:
        """All files; those that are not listed yet are listed now."""
        for listed in self._walk() if self._running is None else self._running:
            self._found.setdefault(listed.path, listed)
        found, self._found, self._running = self._found, {}, None
        return found

    def fresh(self, new: list[Found]) -> list[Found]:
        """Those of the last listing taken that still exist, as they are now."""
        if not self._sliced:
            return new
        self._sliced = False
        there: list[Found] = []
        for listed in new:
            try:
                there.append(listed._replace(signature=self.signature(listed.path)))
            except OSError:
                continue
        return there

    def signature(self, path: str) -> Signature:
        """Raises: OSError."""
        if is_stored(path):
            return self._stores.signature(path)
        return signature_of(os.stat(path))  # noqa: PTH116 - for many files at each scan: a Path takes three times as long

    def _walk(self) -> Iterator[Found]:
        folders = self._plan.folders
        self._plan.roots += registered(self._plan.roots)
        for root in self._plan.roots:
            for listed in self._stores.found(root) if root.database else walk(root):
                if folders is None or not folders.made_here(listed.path):
                    yield listed
        for path in self._plan.paths:
            try:
                only = self._plan.only
                root = Root(path, None if only is None else only.name, ())
                yield Found(path, root, self.signature(path), True)
            except OSError:
                continue
