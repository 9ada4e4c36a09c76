"""Separates the answers of the main agent and of its sub-agents in a stream that prints both without a name.

An agent answers only when all its calls are answered, so an answer that begins while a call of the main agent is open
is a sub-agent's. If both could have written it: `streaming-json` prints the tools of the answering session before the
tokens of each answer, and a sub-agent has fewer tools; in the other stream an answer whose prompt is smaller than the
main agent's last one is a sub-agent's, because prompts grow. Several sub-agents at work at once share one stream.
Source: Grok Build 1.0.41, recorded runs with one and two sub-agents, waited for and in the background.
"""

from zlib import crc32

from msgspec import Raw, Struct

from agentv_stages.model.event import MAIN
from agentv_stages.model.recent import remember
from agentv_stages.providers.grok.results import Returned
from agentv_stages.providers.grok.tools import SPAWN

SEVERAL = "subagent:(several)"
MOST = 1_000
_MOST_MARKS = 16


class Agents(Struct):
    """The agents at work. `spawned`: calls whose sub-agents may be at work, and their ids ("" while unknown).

    `open`: call id -> stream of its agent. `last`: the stream that answered last. `tools` is the checksum of the main
    agent's tools, `marks` those of the tools printed since the last answer ended. `prompt` is the size of the main
    agent's last prompt in tokens.
    """

    spawned: dict[str, str] = {}
    open: dict[str, str] = {}
    last: str = MAIN
    tools: int = 0
    marks: list[int] = []
    prompt: int = 0

    def listed(self, tools: Raw) -> None:
        """Records the printed tools of a session."""
        mark = crc32(tools)
        if not self.spawned:
            self.tools = mark
            self.marks.clear()
        elif len(self.marks) < _MOST_MARKS:
            self.marks.append(mark)

    def answers(self, prompt: int | None = None) -> str:
        """The stream of a printed answer; `prompt` is the size of its prompt, if only that can show the agent."""
        mark = self.marks.pop(0) if self.marks else None
        if not self.spawned:
            stream = MAIN
        else:
            others = (mark is not None and mark != self.tools) or (prompt is not None and 0 < prompt < self.prompt)
            stream = self._stream() if others or MAIN in self.open.values() else MAIN
        if stream == MAIN and prompt:
            self.prompt = prompt
        self.last = stream
        return stream

    def parent_call(self, stream: str) -> str | None:
        """The call that started the sub-agent of a stream, if the stream has only one."""
        call_id = stream.removeprefix("subagent:")
        return call_id if stream != MAIN and stream != SEVERAL else None

    def calls(self, call_id: str, name: str, stream: str) -> None:
        """Records a call of an agent."""
        remember(self.open, call_id, stream, MOST)
        if name == SPAWN and len(self.spawned) < MOST:
            self.spawned[call_id] = ""

    def answered(self, call_id: str, returned: Returned) -> str:
        """Records the end of a call; returns its stream. A call that waited for a sub-agent shows whether it
        finished.
        """
        stream = self.open.pop(call_id, MAIN)
        if call_id in self.spawned:
            if returned.finished or returned.agent_id is None:
                del self.spawned[call_id]
            else:
                self.spawned[call_id] = returned.agent_id
        elif self.spawned and returned.output is not None and b"subagent_meta" in bytes(returned.output):
            printed = bytes(returned.output)
            done = [call for call, agent in self.spawned.items() if agent and f"id={agent}".encode() in printed]
            for call in done:
                del self.spawned[call]
        return stream

    def _stream(self) -> str:
        return f"subagent:{next(iter(self.spawned))}" if len(self.spawned) == 1 else SEVERAL
