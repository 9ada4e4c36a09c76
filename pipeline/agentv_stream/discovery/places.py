"""The places of agents' logs. In: providers' roots, variables and options. Out: files with their signatures.

A root is `$variable/below` if the variable is set, otherwise its default, unless another variable that moves the same
default is set; roots configured for a provider replace its own, `--root` replaces all. A variable may hold several
folders, separated by commas. Files are matched by path only; header.py determines their contents.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agentv_stages.model.provider import LogRoot, Provider, Registry
from agentv_stages.providers import NAMES, get_provider, plugins, store_providers
from agentv_stages.providers.log_roots import LOG_ROOTS
from agentv_stream.discovery.registries import registered_folders
from agentv_stream.errors import UsageError
from agentv_stream.names import named_provider
from agentv_stream.outputs.forms import told_twice
from agentv_stream.release import has_plugins
from agentv_stream.sources.files import absolute, is_store_folder

LOG_SUFFIXES = (".jsonl", ".json", ".ndjson", ".traj")
"""Endings of the names of logs. In a folder, only files with such names are opened."""
ANY_LOG = tuple(f"**/*{suffix}" for suffix in LOG_SUFFIXES)
_REST = re.compile(r"\.(gz|zst|\d{1,3})\Z")
LAST_NS = (1 << 63) - 1  # the year 2262: SQLite, which stores signatures, has no larger integers
IN_STORES = frozenset(("storage", "session", "message", "part", "session_diff", "todo", "project", "migration"))
"""Folders of OpenCode's layout before 1.2."""
_SKIPPED = frozenset((".git", "node_modules", ".agentv", "__pycache__"))


class Signature(NamedTuple):
    """Shows whether a file was changed. `ctime_ns` cannot be set back: a forged mtime hides nothing."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class Root(Struct, frozen=True):
    """A folder of logs. `provider_name` None: of any agent, detected by content. `database`: the files are SQLite
    stores. The provider is imported when it is asked for: most roots do not exist."""

    path: str
    provider_name: str | None
    patterns: tuple[str, ...]
    database: bool = False
    registry: Registry | None = None

    @property
    def provider(self) -> Provider | None:
        """The agent whose logs these are."""
        return None if self.provider_name is None else get_provider(self.provider_name)


class Found(NamedTuple):
    """A file below a root. `main`: its name is that of a session's log; other names may be sub-agents' or
    irrelevant.
    """

    path: str
    root: Root
    signature: Signature
    main: bool


def signature_of(stat: os.stat_result) -> Signature:
    return Signature(
        stat.st_dev, stat.st_ino, stat.st_size, min(stat.st_mtime_ns, LAST_NS), min(stat.st_ctime_ns, LAST_NS)
    )


def find_roots(
    extra: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
    provider: str | None = None,
    configured: Sequence[str] = (),
) -> list[Root]:
    """Every root, existing or not. `extra` and `configured` hold `PATH` or `PROVIDER=PATH`.

    If `extra` is given, only its roots count. A provider named in `configured` has only the roots given there; a PATH
    alone is searched in addition. With `provider` the roots of other providers are left out.

    Raises: UsageError for an unknown provider.
    """
    if extra:
        return [root for text in extra for root in _named(text, provider)]
    agents = _log_roots()
    owners = {owner for owner, _ in map(_parts, configured)}
    found = [root for text in configured for root in _named(text, provider)]
    if provider is not None:
        chosen = named_provider(provider).name
        agents = [(name, log_roots) for name, log_roots in agents if name == chosen]
        found = [root for root in found if root.provider_name == chosen]
    for name, log_roots in agents:
        moved = {root.default for root in log_roots if _value(root, environment)}
        for log_root in log_roots if name not in owners else ():
            if log_root.default in moved and not _value(log_root, environment):
                continue
            for path in _places(log_root, environment):
                found.append(Root(path, name, log_root.patterns, log_root.database, log_root.registry))
    once: dict[tuple[str, str | None, bool], Root] = {}
    for root in found:
        once.setdefault((root.path, root.provider_name, root.database), root)
    roots = list(once.values())
    return roots + registered(roots)


def registered(roots: Sequence[Root]) -> list[Root]:
    """The roots that the registries among `roots` name at present, without those that are among them."""
    known = {root.path for root in roots if root.database}
    return [
        replace(root, path=path, registry=None)
        for root in roots
        if root.registry is not None
        for path in registered_folders(root.path, root.registry)
        if path not in known
    ]


def _log_roots() -> list[tuple[str, tuple[LogRoot, ...]]]:
    """The roots of every provider, plug-ins last; none of ours is imported."""
    ours = [(name, LOG_ROOTS.get(name, ())) for name in NAMES]
    return ours + ([(plugin.name, plugin.roots) for plugin in plugins().values()] if has_plugins() else [])


def is_database(path: str) -> bool:
    """Whether a path is a store of sessions, judging by its contents."""
    try:
        with Path(path).open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _parts(text: str) -> tuple[str | None, str]:
    """The provider's canonical name, None if there is none, and the path. A folder's name may also contain `=`.

    Raises: UsageError.
    """
    name, sign, path = text.partition("=")
    if not sign or "/" in name:
        name, path = "", text
    if not path:
        raise UsageError(f"root {text!r}: expected PATH or PROVIDER=PATH")
    return (named_provider(name).name if name else None), path


def _named(text: str, provider: str | None) -> list[Root]:
    """The roots for `PATH` or `PROVIDER=PATH`: a folder's logs and the stores in it; or one store."""
    name, path = _parts(text)
    at = absolute(expanded(path))
    place = str(at)
    chosen = named_provider(name or provider)
    if is_database(place):
        owner = chosen or next(p for p in store_providers() if p.owns_store is not None and p.owns_store(None))
        return [Root(str(at.parent), owner.name, (at.name,), database=True)]
    logs = [p for root in chosen.roots if not root.database for p in root.patterns] if chosen is not None else []
    chosen_name = None if chosen is None else chosen.name
    roots = [Root(place, chosen_name, tuple(dict.fromkeys((*logs, *ANY_LOG))))]
    for agent, log_roots in _log_roots():
        if chosen_name in (None, agent):
            patterns = dict.fromkeys(root.patterns for root in log_roots if root.database)  # several have the same
            roots += [Root(place, agent, names, database=True) for names in patterns]
    return roots


def _value(root: LogRoot, environment: Mapping[str, str]) -> str | None:
    return environment.get(root.variable) if root.variable else None


def _places(root: LogRoot, environment: Mapping[str, str]) -> list[str]:
    home = environment.get("HOME") or str(expanded("~"))
    value = _value(root, environment)
    if value:
        return [str(Path(_home(part.strip(), home)) / root.below) for part in value.split(",") if part.strip()]
    place, below = Path(_home(root.default, home)), Path(root.below).parts
    # Some providers' defaults include the part below the root, some do not, some include a part of it.
    shared = next(n for n in range(len(below), -1, -1) if not n or place.parts[-n:] == below[:n])
    return [str(place.joinpath(*below[shared:]))]


def expanded(path: str) -> Path:
    """The path with `~` replaced; unchanged if there is no home folder (an unknown user, no HOME)."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def own_folder(variable: str, default: str) -> Path | None:
    """A folder for our own files; None if no home folder is known. A relative path is ignored (XDG's rule)."""
    place = expanded(os.environ.get(variable) or default)
    if not place.is_absolute():
        place = expanded(default)
    return place if place.is_absolute() else None


def cache_file() -> Path | None:
    """The file of figures and headers of sessions, kept between runs (`kept_file`); None without a home folder."""
    home = own_folder("XDG_CACHE_HOME", "~/.cache")
    return home / "agentv-stream" / "figures.db" if home is not None else None


def _home(path: str, home: str) -> str:
    return home + path[1:] if path == "~" or path.startswith("~/") else path


def compile_patterns(patterns: Iterable[str]) -> re.Pattern[str]:
    """Globs as one expression for paths below the root; rotated and compressed names also match."""
    return re.compile("|".join(f"(?:{_regex(p)})" for p in patterns))


def _regex(pattern: str) -> str:
    out = ""
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out += "(?:[^/]+/)*"
            at += 3
        elif pattern[at] == "*":
            out += "[^/]*"
            at += 1
        elif pattern[at] == "?":
            out += "[^/]"
            at += 1
        else:
            out += re.escape(pattern[at])
            at += 1
    return out


def store_patterns() -> re.Pattern[str]:
    """The names of agents' databases."""
    return compile_patterns(
        pattern.rpartition("/")[2]
        for _, log_roots in _log_roots()
        for root in log_roots
        if root.database
        for pattern in root.patterns
    )


def stores(root: Root) -> list[Path]:
    """The stores below a root, sorted; none if the folder may not be entered, for which `glob` raises."""
    try:
        return sorted({place for pattern in root.patterns for place in Path(root.path).glob(pattern)})
    except OSError:
        return []


def walk(root: Root) -> Iterator[Found]:
    """Every file below a root that may be a log. Unreadable files are skipped: they may have been removed meanwhile.

    Links to folders are followed as `_leads_on` says, those in a linked folder are not: from `/proc`, links lead to the
    whole machine, once for each process.
    """
    matching = compile_patterns(root.patterns)
    seen: set[tuple[int, int]] = set()
    todo = [(root.path, False)]
    prefix = len(root.path.rstrip("/")) + 1
    while todo:
        folder, linked = todo.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
        except OSError:
            continue
        below: list[tuple[str, bool]] = []
        twice = told_twice(entry.name for entry in entries)
        for entry in entries:
            try:
                if entry.name in twice:
                    continue
                if entry.is_dir():
                    if entry.name in IN_STORES and is_store_folder(folder):
                        continue  # not logs but a store, whose sessions are listed elsewhere
                    link = entry.is_symlink()
                    if entry.name in _SKIPPED or (link and (linked or not _leads_on(entry, root.path, seen))):
                        continue
                    below.append((entry.path, linked or link))
                    continue
                name = logical_name(entry.path[prefix:])
                main = matching.fullmatch(name) is not None
                if main or name.endswith((".jsonl", ".json")):
                    yield Found(entry.path, root, signature_of(entry.stat()), main)
            except OSError:
                continue
        todo += reversed(below)


def _leads_on(link: "os.DirEntry[str]", root: str, seen: set[tuple[int, int]]) -> bool:
    """Whether a link leads to a folder that is new to this walk, does not contain the root, and is on a disk."""
    stat = link.stat()
    if (stat.st_dev, stat.st_ino) in seen:
        return False
    seen.add((stat.st_dev, stat.st_ino))
    place, of_root = (os.path.join(os.path.realpath(path), "") for path in (link.path, root))  # noqa: PTH118 - ends in /
    return not of_root.startswith(place) and os.statvfs(link.path).f_blocks > 0  # `/proc` and `/sys` have no blocks


def logical_name(path: str) -> str:
    """A path without suffixes of rotation and compression: `a.jsonl.zst` and `a.jsonl.1.gz` become `a.jsonl`."""
    while (match := _REST.search(path)) is not None:
        path = path[: match.start()]
    return path
