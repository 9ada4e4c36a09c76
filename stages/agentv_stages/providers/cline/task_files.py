"""The files of an editor extension's task: its history item, and the tasks that it started (Roo, Kilo)."""

from agentv_stages.model.event import MAIN, sidechain
from agentv_stages.model.provider import REFUSED, Companion, DecodeContext, Folder
from agentv_stages.providers.cline.task_wire import decode_entry

NAME = "ui_messages.json"
_ITEM = "history_item.json"
_MOST = 1 << 20
_MOST_TASKS = 1024


def task_folder(path: str) -> str | None:
    """The folder of a task, with a slash, from the path of its messages; None for other logs."""
    place, _, name = path.replace("\\", "/").rpartition("/")
    return f"{place}/" if place and name.startswith(NAME) else None


def kept_in(path: str) -> str | None:
    """The folder in which the history of requests lies."""
    folder = task_folder(path)
    return None if folder is None else folder.rstrip("/")


def companions(path: str, folder: Folder) -> list[Companion]:
    """The messages of the tasks that a task started, at any depth, then its history item."""
    own = task_folder(path)
    if own is None:
        return []
    tasks, _, session = own.rstrip("/").rpartition("/")
    found: list[Companion] = []
    todo, seen = [session], {session}
    while todo and len(seen) < _MOST_TASKS:
        for child in _children(f"{tasks}/{todo.pop(0)}/{_ITEM}", folder):
            if child in seen or "/" in child or "\\" in child:
                continue
            seen.add(child)
            todo.append(child)
            files = folder.glob(f"{tasks}/{child}/{NAME}*")
            found += [Companion(file, DecodeContext(file, sidechain(child), None, session)) for file in files[:1]]
    return found + [
        Companion(file, DecodeContext(file, MAIN, None, session)) for file in folder.glob(f"{own}{_ITEM}*")[:1]
    ]


def _children(path: str, folder: Folder) -> list[str]:
    try:
        return decode_entry(folder.read(path, _MOST)).childIds or []
    except REFUSED:
        return []
