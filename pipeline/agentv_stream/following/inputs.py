"""The files of a followed session: how far each was read, and what of it was delivered before."""

from dataclasses import dataclass, field, replace

from agentv_stages.model.event import MAIN
from agentv_stages.model.payload import told_path
from agentv_stages.model.provider import DecodeContext
from agentv_stream.following.growing import GrowingFile
from agentv_stream.following.repeats import Repeated


@dataclass
class Input:
    """One file of a session. A `generation` above 0 continues a log, part of which other bytes or files contained."""

    file: GrowingFile
    context: DecodeContext
    state: str = "live"
    generation: int = 0
    repeated: Repeated = field(default_factory=Repeated)
    gone: bool = False  # the file no longer exists
    mute_until: int = 0  # records before this offset are processed but not emitted
    told_until: int = 0  # they go into the outputs, but were delivered when the file was read before

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def further(self) -> bool:
        """Whether this is not the session's first file but continues its log."""
        return self.generation > 0 and self.context.stream == MAIN

    @property
    def told(self) -> str:
        """Its path as used in the stages and the outputs."""
        return told_path(self.file.path)


def told_context(path: str, context: DecodeContext) -> DecodeContext:
    """The context with a printable file name: JSON cannot hold one that is not UTF-8."""
    if path.isascii():
        return context
    return replace(context, file=told_path(path), stream=told_path(context.stream))
