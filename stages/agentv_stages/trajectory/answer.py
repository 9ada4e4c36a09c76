"""contains, equals, starts-with, ends-with, regex, is-json and their kin: checks on the text of the last answer.

They need neither a model nor a script, so they are evaluated here. The text is the last answer of the main stream, at
most 1 MiB of it; it can change until the end, and so can the verdict. Without an answer every check fails, negated or
not: nothing shows what its text might have been. Texts are compared as NFC, so an é is an é however it was typed.
`compat`: as in AgentV, no answer is an empty one, and code points are compared.
"""

import json
import re
import warnings
from collections.abc import Sequence

from msgspec import Struct

from agentv_stages.model.event import MAIN, AnyEvent, AssistantText
from agentv_stages.trajectory.verdict import Bounds, Evidence, Proof, evidence_of
from agentv_stages.trajectory.wildcards import composed

KINDS = (
    "contains",
    "contains-any",
    "contains-all",
    "icontains",
    "icontains-any",
    "icontains-all",
    "starts-with",
    "ends-with",
    "regex",
    "is-json",
    "equals",
)
LONGEST = 1 << 20
MOST_PIECES = 1_000  # an answer comes in up to a million of them: joining each at once would take minutes


JAVASCRIPT = re.compile(r"\\k<(?P<name>\w+)>|\\.|\[(?:\\.|[^\]\\])*\]|\(\?<(?=\w)", re.DOTALL)


def _python(found: re.Match[str]) -> str:
    """A named group of JavaScript, or a reference to one, in Python's spelling; anything else as it is."""
    if found["name"] is not None:
        return f"(?P={found['name']})"
    return "(?P<" if found[0] == "(?<" else found[0]


def _compiled(pattern: str, flags: re.RegexFlag) -> re.Pattern[str]:
    """Raises: ValueError for an invalid pattern."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `[[`, which Python reads as JavaScript does, but might not one day
            return re.compile(JAVASCRIPT.sub(_python, pattern), flags)
    except (re.error, OverflowError, RecursionError) as error:
        shown = pattern if len(pattern) <= 80 else pattern[:80] + "…"
        raise ValueError(f"bad pattern {shown!r}: {error}") from error


def _no_constant(word: str) -> None:
    """Refuses NaN and Infinity, which Python reads but which are not JSON."""
    raise ValueError(word)


class AnswerState(Struct):
    """`pieces` are the parts of the answer that are not yet in `text`; `length` is that of both."""

    message_id: str = ""
    text: str = ""
    pieces: list[str] = []
    length: int = 0
    evidence: Evidence | None = None
    passed: bool = False
    done: bool = False


class Answer:
    """Score 1 or 0. `values` are the texts to find; for `regex` the first is the pattern, `flags` as in JavaScript.

    `negated`: the score will be inverted, so that a missing answer must score 1 to fail.
    Raises: ValueError for an invalid pattern.
    """

    threshold: float | None = None

    def __init__(
        self, kind: str, values: Sequence[str], flags: str = "", negated: bool = False, compat: bool = False
    ) -> None:
        self.state = AnswerState()
        self._kind = kind
        self._values = tuple(values if compat else map(composed, values))
        self._negated = negated
        self._compat = compat
        self._pattern: re.Pattern[str] | None = None
        if kind == "regex":
            known = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
            bits = re.NOFLAG
            for flag in flags:
                bits |= known.get(flag, re.NOFLAG)
            self._pattern = _compiled(self._values[0], bits)

    def observe(self, event: AnyEvent) -> bool:
        if type(event) is AssistantText and event.source.stream == MAIN and not event.synthetic:
            state = self.state
            if event.message_id != state.message_id:
                state.message_id, state.text, state.pieces, state.length = event.message_id, "", [], 0
            if state.length < LONGEST:
                piece = event.text[: LONGEST - state.length]
                state.pieces.append(piece)
                state.length += len(piece)
                if len(state.pieces) >= MOST_PIECES:
                    self._join()
            state.evidence = evidence_of(event)
        return False

    def finish(self) -> None:
        self._join()
        self.state.done = True
        if self._compat:
            self.state.passed = self._test(self.state.text)
        elif self.state.evidence is None:
            self.state.passed = self._negated
        else:
            self.state.passed = self._test(composed(self.state.text))

    def _join(self) -> None:
        state = self.state
        state.text = "".join((state.text, *state.pieces))
        state.pieces = []

    def _test(self, text: str) -> bool:
        kind, values = self._kind, self._values
        if kind.startswith("icontains"):
            kind, text, values = kind[1:], text.lower(), tuple(v.lower() for v in values)
        if kind == "contains-any":
            return any(v in text for v in values)
        if kind.startswith("contains"):
            return all(v in text for v in values)
        if kind == "starts-with":
            return text.strip().startswith(values[0].strip())
        if kind == "ends-with":
            return text.strip().endswith(values[0].strip())
        if kind == "equals":
            return text.strip() == values[0].strip()
        if self._pattern is not None:
            return self._pattern.search(text) is not None
        try:
            json.loads(text, parse_int=float, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return False
        return True

    def bounds(self) -> Bounds:
        return Bounds(float(self.state.passed), float(self.state.passed or not self.state.done))

    def broken(self) -> bool:
        return False

    def prove(self, proof: Proof) -> None:
        if self.state.evidence is None and self.state.done and not self._compat:
            proof.add("There was no answer", self._negated)
            return
        wanted = ", ".join(repr(v) for v in self._values)
        where = (self.state.evidence,) if self.state.evidence is not None else ()
        verb = "fits" if self.state.passed else "does not fit"
        proof.add(f"The answer {verb} {self._kind} {wanted}".rstrip(), self.state.passed, where)

    def warnings(self) -> list[str]:
        return [] if self.state.evidence is not None else ["there was no answer"]
