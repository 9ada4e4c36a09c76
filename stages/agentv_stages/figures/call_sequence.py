"""The called tools and their kinds, in order, in two bytes per call."""

from array import array

from msgspec import Struct, convert

from agentv_stages.model.slices import Slices

MOST_NAMES = 65_535  # what two bytes can distinguish; further tools share one name
OTHER = ("(other)", "other")


class SequenceState(Struct):
    """`codes` holds two-byte numbers in the machine's byte order: indices into `names`, the (tool, kind) pairs."""

    names: list[tuple[str, str]] = []
    codes: bytes = b""


class CallSequence:
    """Grows by one call at a time."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], int] = {}
        self._codes = array("H")

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, tool: str, kind: str) -> None:
        key = (tool, kind)
        code = self._names.get(key)
        if code is None:
            if len(self._names) >= MOST_NAMES:
                key = OTHER
            code = self._names.setdefault(key, len(self._names))
        self._codes.append(code)

    def tools(self) -> Slices:
        """The canonical names."""
        return self._slices([tool for tool, _ in self._names])

    def kinds(self) -> Slices:
        """The kinds, one for each tool."""
        return self._slices([kind for _, kind in self._names])

    def _slices(self, names: list[str]) -> Slices:
        codes = self._codes
        return Slices(len(codes), lambda begin, end: [names[code] for code in codes[begin:end]])

    def snapshot(self) -> SequenceState:
        return SequenceState(list(self._names), self._codes.tobytes())

    def restore(self, snapshot: object, /) -> None:
        state = convert(snapshot, SequenceState, from_attributes=True)
        self._names = {name: code for code, name in enumerate(state.names)}
        self._codes = array("H", state.codes)
