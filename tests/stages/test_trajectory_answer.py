"""The text of the last answer, which comes in pieces."""

from msgspec import Raw

from agentv_stages.event import AssistantText
from agentv_stages.trajectory.answer import LONGEST, MOST_PIECES, Answer
from support.events import at


def said(text: str) -> AssistantText:
    return AssistantText(at(0), "", "m", Raw(f'"{text}"'.encode()), delta=True)


def test_an_answer_in_many_pieces_is_read_as_one() -> None:
    """A million tiny pieces took 40 seconds when each was joined at once; past 1 MiB the rest is not kept."""
    answer = Answer("ends-with", ["the end"])
    for word in ["word "] * (2 * MOST_PIECES + 1) + ["the end"]:
        answer.observe(said(word))
    assert len(answer.state.pieces) < MOST_PIECES
    answer.finish()
    assert answer.state.passed
    long = Answer("ends-with", ["x"])
    for text in ("x" * LONGEST, "past the cap"):
        long.observe(said(text))
    long.finish()
    assert (long.state.passed, len(long.state.text)) == (True, LONGEST)
