"""Finds the messages that a rewind took back. A session's log is a tree: a prompt starts a new branch if its parent is
an earlier message that another prompt already follows, instead of the last message.

Source: sessions that were rewound in the terminal of Claude Code 2.1.90, 2.1.330 and 2.1.332 (`/rewind`, Escape twice,
and Escape before the first word of an answer); nothing else in the log marks a rewind. A prompt whose parent is not
among the remembered records is taken as a rewind to before them; none of 3,100 prompts in other recordings is such.
"""

from msgspec import Struct

from agentv_stages.providers.claude.wire import SessionHead

MOST_RECORDS = 32
_LINKED = b'"parentUuid":"'
_ANSWER, _PROMPT = "\t", " "


class Branches(Struct):
    """`recent` holds the ids of the main stream's last records; the decoder appends them and keeps 32. Before the entry
    of an answer's first record stands an entry that adds its message id; before that of a prompt, one for its parent.
    `root` is the session whose first prompt was seen. `linked`: the log records parents at all (without them, each
    prompt looks like the first). `last` is the time of the last answer.
    """

    recent: list[str] = []
    root: str | None = None
    linked: bool = False
    last: str = ""

    def answer(self, uuid: str, message_id: str, data: bytes, time: str | None) -> None:
        """Records the first line of an answer."""
        self.last = time or ""
        if not self.linked:
            self.linked = data.find(_LINKED, 0, 80) >= 0
        self.recent.append(f"{uuid}{_ANSWER}{message_id}")

    def goes_on(self, uuid: str, data: bytes) -> bool:
        """Records a prompt whose parent is the last record, as nearly always; returns False for any other prompt."""
        last = self.recent[-1] if self.recent else ""
        if not last or data.find(f'"parentUuid":"{last}"'.encode(), 0, 120) < 0:
            return False
        self.linked = True
        self.recent.append(f"{uuid}{_PROMPT}{last}")
        return True

    def prompt(self, head: SessionHead, uuid: str) -> tuple[str | None, tuple[str, ...]] | None:
        """Records a prompt. If it rewinds: its parent, and the ids of the remembered messages after that parent."""
        ids = [known.partition(_ANSWER)[0].partition(_PROMPT)[0] for known in self.recent]
        parent = head.parentUuid
        if uuid in ids:
            return None  # a repeated line
        at = max((i for i, known in enumerate(ids) if known == parent), default=-1)
        later = self.recent[at + 1 :]
        if parent is None:
            back = self.linked and self.root is not None and self.root == head.sessionId
            self.root = head.sessionId
        elif at < 0:
            back = self.linked and bool(ids)
        else:
            back = any(known.endswith(f"{_PROMPT}{parent}") for known in later)
        void = [message_id for message_id in map(_message, later) if message_id] if back else []
        if back:
            del self.recent[at + 1 :]
        self.linked = self.linked or parent is not None
        self.recent.append(f"{uuid}{_PROMPT}{parent or '-'}")
        return (parent, tuple(void)) if back else None


def _message(entry: str) -> str:
    """The id of the message that starts at this entry; "" if none does."""
    uuid, _, message_id = entry.partition(_ANSWER)
    return message_id or (uuid.partition(_PROMPT)[0] if _PROMPT in uuid else "")
