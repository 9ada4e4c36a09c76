"""The project of a working folder: the Git repository that contains it, otherwise the folder itself.

A worktree belongs to its repository. Folders are compared in one form: without a trailing slash, a Windows drive in
upper case, its separators as `/`.
"""

import re
from pathlib import Path

_DRIVE = re.compile(r"([A-Za-z]):(?=[\\/]|\Z)")
_WORKTREE = re.compile(r"(.+)/worktrees/[^/]+\Z")
MOST_LINK = 4096


def normal_folder(folder: str) -> str:
    """The one form of a folder's name."""
    drive = _DRIVE.match(folder)
    if drive is not None:
        folder = f"{drive[1].upper()}:{folder[2:]}".replace("\\", "/")
    elif folder.startswith("\\\\"):
        folder = folder.replace("\\", "/")
    return folder.rstrip("/") or folder[:1]


def project_root(folder: str) -> str:
    """The repository of a folder as its main working tree, otherwise the folder; it need not exist any more."""
    place = normal_folder(folder)
    if not place.startswith("/"):
        return place
    at = Path(place)
    for above in (at, *at.parents):
        git = above / ".git"
        try:
            if git.is_dir():
                return str(above)
            if git.is_file():
                return _main_tree(git) or str(above)
        except (OSError, ValueError):
            continue
    return place


def _main_tree(link: Path) -> str | None:
    """The working tree of the repository to which a worktree's file `.git` leads; None where it is a submodule."""
    with link.open("rb") as file:
        text = file.read(MOST_LINK).decode("utf-8", "surrogateescape")
    name, _, place = text.partition(":")
    if name != "gitdir":
        return None
    inner = (link.parent / place.strip()).resolve()
    found = _WORKTREE.fullmatch(str(inner))
    if found is None:
        return None
    repository = Path(found[1])
    return str(repository.parent if repository.name == ".git" else repository)
