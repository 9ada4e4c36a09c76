"""A folder of packed logs as providers see it: under the names that the logs had before they were packed.

Providers tell by names what belongs together. Where a session's main file is packed (`.gz`, `.zst`), the others mostly
are, too; one that is there plain and packed is read plain.
"""

from dataclasses import replace

from agentv_stages.provider import Companion, Folder, Provider

PACKED = (".gz", ".zst")


def unpacked_name(path: str) -> str:
    """A path without what packing appended."""
    for suffix in PACKED:
        path = path.removesuffix(suffix)
    return path


class PackedFolder:
    """`Folder` over another one. `place` gives the path at which a name lies."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._places: dict[str, str] = {}

    def place(self, name: str) -> str:
        return self._places.get(name, name)

    def glob(self, pattern: str) -> list[str]:
        """Names of files that match, packed or not, sorted."""
        plain = self._folder.glob(pattern)
        names = {path for path in plain if unpacked_name(path) == path}
        packed = [path for path in plain if unpacked_name(path) != path]
        if not pattern.endswith("*"):
            packed += [path for suffix in PACKED for path in self._folder.glob(pattern + suffix)]
        for path in packed:
            name = unpacked_name(path)
            if name not in names:
                self._places.setdefault(name, path)
        return sorted({*names, *map(unpacked_name, packed)})

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` bytes, unpacked."""
        if path in self._places:
            return self._folder.read(self._places[path], limit)
        data = self._folder.read(path, limit)
        for suffix in () if data else PACKED:
            data = data or self._folder.read(path + suffix, limit)
        return data


def companion_files(provider: Provider, path: str, folder: Folder) -> list[str] | None:
    """The paths alone of the companions of a main file that may be packed; None where that is no less work."""
    if provider.companion_files is None:
        return None
    packed = PackedFolder(folder) if unpacked_name(path) != path else None
    if packed is None:
        return provider.companion_files(path, folder)
    return [packed.place(name) for name in provider.companion_files(unpacked_name(path), packed)]


def packed_companions(provider: Provider, path: str, folder: Folder) -> list[Companion]:
    """The companions of a main file that may be packed."""
    name = unpacked_name(path)
    if name == path:
        return provider.companions(path, folder)
    packed = PackedFolder(folder)
    found = provider.companions(name, packed)
    return [Companion(place := packed.place(c.path), replace(c.context, file=place)) for c in found]
