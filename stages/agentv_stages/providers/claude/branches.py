"""Which messages a rewind took back. A session's log is a tree: a prompt that follows not the last message but an
earlier one, which another prompt follows already, begins another branch there.

Source: sessions that Claude Code 2.1.90 and 2.1.330 rewound in the terminal (`/rewind`, Escape twice, and Escape before
the first word of an answer): nothing else in the log says so. A prompt that follows none of the last 16 records goes
back further than those; of 3,100 prompts of other recordings none does.
"""

from msgspec import Struct, field

from agentv_stages.providers.claude.wire import SessionHead, SessionLine

MOST_RECORDS = 16
_LINKED = b'"parentUuid":"'


class Link(Struct, gc=False):
    """A record of the main stream: its id, that of its message ("" for a notice), and of a prompt what it follows."""

    uuid: str
    message_id: str
    parent: str | None = None


class Branches(Struct):
    """The last 16 records. `root` is the session whose first prompt was seen; `linked`: the log says what its messages
    follow. In one that does not, each prompt looks like the first."""

    recent: list[Link] = field(default_factory=list[Link])
    root: str | None = None
    linked: bool = False

    def note(self, line: SessionLine, data: bytes) -> None:
        """A record of the main stream; prompts come to `prompt` before it."""
        uuid = line.uuid or ""
        recent = self.recent
        if recent and recent[-1].uuid == uuid:
            return
        self.linked = self.linked or data.find(_LINKED, 0, 80) >= 0
        message = line.message
        self._keep(Link(uuid, "" if message is None else message.id or uuid))

    def _keep(self, link: Link) -> None:
        self.recent.append(link)
        if len(self.recent) > MOST_RECORDS:
            del self.recent[0]

    def prompt(self, head: SessionHead, uuid: str) -> tuple[str | None, tuple[str, ...]] | None:
        """Notes a prompt. If it takes messages back: what it follows, and which of the last ones come after that."""
        recent, parent = self.recent, head.parentUuid
        if any(link.uuid == uuid for link in recent):
            return None  # the line is repeated
        at = next((i for i, link in enumerate(recent) if link.uuid == parent), -1)
        if parent is None:
            back = self.linked and self.root is not None and self.root == head.sessionId
            self.root = head.sessionId
        elif at < 0:
            back = self.linked and bool(recent)
        else:
            back = any(link.parent == parent for link in recent[at + 1 :])
        void = tuple(dict.fromkeys(link.message_id for link in recent[at + 1 :] if link.message_id)) if back else ()
        if back:
            del recent[at + 1 :]
        self._keep(Link(uuid, uuid, parent))
        return (parent, void) if back else None
