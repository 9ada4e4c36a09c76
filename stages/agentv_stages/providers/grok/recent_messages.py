"""The last messages of a Grok session, for its rewinds. In: ids. Out: the ids that a rewind retracts."""

from msgspec import Struct

_MOST = 1_024


class RecentMessages(Struct):
    """Ids of the last messages, oldest first, and the messages at which prompts began."""

    ids: list[str] = []
    prompts: list[tuple[int, str]] = []

    def add(self, message_id: str, prompt: int | None = None) -> None:
        """Adds a message; a message that continues is in the list already."""
        ids = self.ids
        if not ids or ids[-1] != message_id:
            if len(ids) >= _MOST:
                del ids[: _MOST // 4]
            ids.append(message_id)
        if prompt is not None:
            if len(self.prompts) >= _MOST:
                del self.prompts[: _MOST // 4]
            self.prompts.append((prompt, message_id))

    def since(self, prompt: int) -> tuple[str, ...]:
        """Removes and returns the messages from a prompt on, as far as they are remembered."""
        first = next((i for i, (index, _) in enumerate(self.prompts) if index >= prompt), None)
        if first is None:
            return ()
        message_id = self.prompts[first][1]
        at = self.ids.index(message_id) if message_id in self.ids else 0
        retracted = tuple(self.ids[at:])
        del self.ids[at:], self.prompts[first:]
        return retracted
