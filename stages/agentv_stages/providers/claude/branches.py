"""Which messages a rewind took back. A session's log is a tree: a prompt that follows not the last message but one
before an earlier prompt begins another branch there.

Source: sessions that Claude Code 2.1.90 and 2.1.330 rewound in the terminal (`/rewind`, Escape twice, and Escape before
the first word of an answer): nothing else in the log says so.
"""

from msgspec import Struct, field

from agentv_stages.batch import Record
from agentv_stages.providers.claude.wire import SessionHead

MOST_IDS = 4096
_LINKED = b'"parentUuid":"'


class Branch(Struct):
    """A prompt and what followed it: `parent` is the record that it follows, `ids` are those of its messages."""

    parent: str
    ids: list[str]


class Branches(Struct):
    """The prompts that stand, in order, with at most 4,096 ids of messages; older prompts are forgotten first.

    `linked`: the log names what a message follows. In one that does not, each prompt looks like the first.
    """

    prompts: list[Branch] = field(default_factory=list[Branch])
    ids: int = 0
    linked: bool = False

    def prompt(self, head: SessionHead, message_id: str) -> tuple[str, ...]:
        """Notes a prompt; the ids of all messages that it takes back, oldest first."""
        parent = head.parentUuid or f"start of {head.sessionId}"
        void: list[str] = []
        if self.linked:
            for at, earlier in enumerate(self.prompts):
                if earlier.parent == parent:
                    void = [known for branch in self.prompts[at:] for known in branch.ids]
                    del self.prompts[at:]
                    self.ids -= len(void)
                    break
        self.linked = self.linked or head.parentUuid is not None
        self.prompts.append(Branch(parent, []))
        self._note(message_id)
        return tuple(void)

    def answer(self, message_id: str, record: Record) -> None:
        """Notes an answer to the last prompt."""
        self.linked = self.linked or record.data.find(_LINKED, 0, 80) >= 0
        if self.prompts:
            self._note(message_id)

    def _note(self, message_id: str) -> None:
        last = self.prompts[-1].ids
        if last and last[-1] == message_id:
            return
        last.append(message_id)
        self.ids += 1
        if self.ids > MOST_IDS:
            self._forget()

    def _forget(self) -> None:
        oldest = self.prompts[0]
        if len(self.prompts) > 1:
            del self.prompts[0]
            self.ids -= len(oldest.ids)
        else:
            del oldest.ids[: MOST_IDS // 2]
            self.ids = len(oldest.ids)
