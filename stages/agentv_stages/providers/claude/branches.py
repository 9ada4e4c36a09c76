"""Which messages a rewind took back. A session's log is a tree: a prompt that follows not the last message but an
earlier one, which another prompt follows already, begins another branch there.

Source: sessions that Claude Code 2.1.90, 2.1.330 and 2.1.332 rewound in the terminal (`/rewind`, Escape twice, and
Escape before the first word of an answer): nothing else in the log says so. A prompt that follows none of the last
records goes back further than those; of 3,100 prompts of other recordings none does.
"""

from msgspec import Struct

from agentv_stages.providers.claude.wire import SessionHead

MOST_RECORDS = 32
_LINKED = b'"parentUuid":"'
_ANSWER, _PROMPT = "\t", " "


class Branches(Struct):
    """`recent` are the ids of the last records of the main stream; the decoder appends them, and keeps 32. Ahead of
    that of an answer's first record stands an entry that also says its message id, ahead of that of a prompt one with
    what it follows. `root` is the session whose first prompt was seen. `linked`: the log says what its messages
    follow; in one that does not, each prompt looks like the first. `last` is the time of the last answer.
    """

    recent: list[str] = []
    root: str | None = None
    linked: bool = False
    last: str = ""

    def answer(self, uuid: str, message_id: str, data: bytes, time: str | None) -> None:
        """The first record of an answer."""
        self.last = time or ""
        if not self.linked:
            self.linked = data.find(_LINKED, 0, 80) >= 0
        self.recent.append(f"{uuid}{_ANSWER}{message_id}")

    def goes_on(self, uuid: str, data: bytes) -> bool:
        """Notes a prompt that follows the last record, as nearly all do; False for any other."""
        last = self.recent[-1] if self.recent else ""
        if not last or data.find(f'"parentUuid":"{last}"'.encode(), 0, 120) < 0:
            return False
        self.linked = True
        self.recent.append(f"{uuid}{_PROMPT}{last}")
        return True

    def prompt(self, head: SessionHead, uuid: str) -> tuple[str | None, tuple[str, ...]] | None:
        """Notes a prompt. If it takes messages back: what it follows, and which of the last ones come after that."""
        ids = [known.partition(_ANSWER)[0].partition(_PROMPT)[0] for known in self.recent]
        parent = head.parentUuid
        if uuid in ids:
            return None  # the line is repeated
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
    """The id of the message that an entry begins."""
    uuid, _, message_id = entry.partition(_ANSWER)
    return message_id or (uuid.partition(_PROMPT)[0] if _PROMPT in uuid else "")
