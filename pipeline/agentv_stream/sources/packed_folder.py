"""A folder of packed logs as providers see it: under the names that the logs had before they were packed.

Providers find related files by their names. Any of a session's files may be packed (`.gz`, `.zst`): all of them in an
archived folder, or only those of sub-agents, which are older. If a file exists plain and packed, the plain one is read.
"""

from collections.abc import Callable

from msgspec.structs import replace

from agentv_stages.model.provider import Companion, Folder, Kept, Provider

PACKED = (".gz", ".zst")


def unpacked_name(path: str) -> str:
    """A path without the suffix of its compression."""
    for suffix in PACKED:
        path = path.removesuffix(suffix)
    return path


class PackedFolder:
    """`Folder` around another one. `place` maps a name to the path of its file.

    `whole`: files matched by a pattern with an open end are also listed under their unpacked names. Without it, beside
    a plain main file, they are listed as they are, which costs nothing: the caller looks for packed ones itself.
    """

    def __init__(self, folder: Folder, whole: bool) -> None:
        self._folder = folder
        self._whole = whole
        self._places: dict[str, str] = {}

    def place(self, name: str) -> str:
        return self._places.get(name, name)

    def glob(self, pattern: str) -> list[str]:
        """Names of files that match, packed or not, sorted."""
        if pattern.endswith("*"):
            found = self._folder.glob(pattern)
            if not self._whole:
                return found
        else:
            ending = pattern.rpartition("*")[2]
            found = [path for path in self._folder.glob(f"{pattern}*") if unpacked_name(path).endswith(ending)]
        packed = [path for path in found if path.endswith(PACKED)]
        if not packed:
            return found
        names = {path for path in found if not path.endswith(PACKED)}
        for path in packed:
            name = unpacked_name(path)
            if name not in names:
                self._places.setdefault(name, path)
        return sorted({*names, *map(unpacked_name, packed)})

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` decompressed bytes."""
        if path in self._places:
            return self._folder.read(self._places[path], limit)
        data = self._folder.read(path, limit)
        for suffix in () if data else PACKED:
            data = data or self._folder.read(path + suffix, limit)
        return data

    def remembered(self, key: str, make: Callable[[], Kept]) -> Kept:
        """As the folder around which it is."""
        return self._folder.remembered(key, make)


def companion_files(provider: Provider, path: str, folder: Folder) -> list[str] | None:
    """Only the paths of the companions of a main file that may be packed; None if that would be no less work."""
    if provider.companion_files is None:
        return None
    name = unpacked_name(path)
    packed = PackedFolder(folder, name != path)
    return [packed.place(found) for found in provider.companion_files(name, packed)]


def packed_companions(provider: Provider, path: str, folder: Folder) -> list[Companion]:
    """The companions of a main file that may be packed."""
    name = unpacked_name(path)
    packed = PackedFolder(folder, name != path)
    found = provider.companions(name, packed)
    return [
        c if (place := packed.place(c.path)) == c.path else Companion(place, replace(c.context, file=place))
        for c in found
    ]
