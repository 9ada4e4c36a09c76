"""Which messages a rewind took back. A session's log is a tree: a prompt that follows not the last message but an
earlier one, which another prompt follows already, begins another branch there.

Source: sessions that Claude Code 2.1.90 and 2.1.330 rewound in the terminal (`/rewind`, Escape twice, and Escape before
the first word of an answer): nothing else in the log says so. A prompt that follows none of the last 24 records goes
back further than those; of 3,100 prompts of other recordings none does.
"""

from msgspec import Struct, field

from agentv_stages.providers.claude.wire import SessionHead

MOST_RECORDS = 24
_LINKED = b'"parentUuid":"'


class Branches(Struct):
    """`recent` are the ids of the last 24 records of the main stream (the decoder appends them); ahead of that of a
    prompt stands an entry that also says, after a blank, what it follows. `answers` are the first record and the
    message id of the last 24 answers, `root` is the session whose first prompt was seen. `linked`: the log says what
    its messages follow; in one that does not, each prompt looks like the first.
    """

    recent: list[str] = field(default_factory=list[str])
    answers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    root: str | None = None
    linked: bool = False

    def answer(self, uuid: str, message_id: str, data: bytes) -> None:
        """The first record of an answer."""
        if not self.linked:
            self.linked = data.find(_LINKED, 0, 80) >= 0
        self.answers.append((uuid, message_id))
        if len(self.answers) > MOST_RECORDS:
            del self.answers[0]

    def goes_on(self, uuid: str, data: bytes) -> bool:
        """Notes a prompt that follows the last record, as nearly all do; False for any other."""
        last = self.recent[-1].partition(" ")[0] if self.recent else ""
        if not last or data.find(f'"parentUuid":"{last}"'.encode(), 0, 120) < 0:
            return False
        self.linked = True
        self.recent.append(f"{uuid} {last}")
        return True

    def prompt(self, head: SessionHead, uuid: str) -> tuple[str | None, tuple[str, ...]] | None:
        """Notes a prompt. If it takes messages back: what it follows, and which of the last ones come after that."""
        known = [record.partition(" ") for record in self.recent]
        ids, parent = [record for record, _, _ in known], head.parentUuid
        if uuid in ids:
            return None  # the line is repeated
        at = ids.index(parent) if parent in ids else -1
        if parent is None:
            back = self.linked and self.root is not None and self.root == head.sessionId
            self.root = head.sessionId
        elif at < 0:
            back = self.linked and bool(ids)
        else:
            back = any(follows == parent for _, _, follows in known[at + 1 :])
        void: list[str] = []
        if back:
            messages = {record: record for record, _, follows in known if follows} | dict(self.answers)
            void = list(dict.fromkeys(messages[record] for record in ids[at + 1 :] if record in messages))
            del self.recent[at + 1 :]
        self.linked = self.linked or parent is not None
        self.recent.append(f"{uuid} {parent or '-'}")
        return (parent, tuple(void)) if back else None
