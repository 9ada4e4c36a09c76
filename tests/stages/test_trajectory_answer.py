"""The text of the last answer, which comes in pieces, and the patterns that it is held against."""

import warnings

import pytest
from msgspec import Raw

from agentv_stages.model.event import AssistantText
from agentv_stages.trajectory import ConfigError, build
from agentv_stages.trajectory.answer import KINDS, LONGEST, MOST_PIECES, Answer
from support.events import at
from support.trajectories import Trace, evaluator_of, judge, score


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


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"(?<key>\w+)=\k<key>", "x a=a", True),
        (r"(?<key>\w+)=\k<key>", "x a=b", False),
        (r"\(?<b>", "<b>", True),
        (r"[(?<a]", "P", False),
        (r"(?<=a)b", "ab", True),
        (r"(?<!a)b", "ab", False),
        (r"[[a]", "[", True),
    ],
)
def test_named_groups_may_be_those_of_javascript(pattern: str, text: str, found: bool) -> None:
    """AgentV's patterns are JavaScript's; `(?<name>…)` was refused. `[[` made Python print a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = Answer("regex", [pattern])
    answer.observe(said(text))
    answer.finish()
    assert answer.state.passed is found


@pytest.mark.parametrize("pattern", ["a{99999999999}", "(" * 3_000 + ")" * 3_000, "(", "[^]"])
def test_a_pattern_that_cannot_be_compiled_is_refused(pattern: str) -> None:
    """The first two ended the command with OverflowError and RecursionError."""
    with pytest.raises(ConfigError, match="bad pattern"):
        build({"type": "regex", "value": pattern})


@pytest.mark.parametrize("kind", ["regex", "equals", "starts-with", "ends-with"])
def test_a_list_is_refused_where_only_one_text_can_be_meant(kind: str) -> None:
    """All but the first were ignored."""
    with pytest.raises(ConfigError, match="takes one text"):
        build({"type": kind, "value": ["a", "b"]})
    assert build({"type": kind, "value": ["a"]})


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "is-json"])
def test_without_an_answer_every_check_fails_negated_or_not(kind: str) -> None:
    """A run that crashed before its answer passed all negated checks."""
    config = {"type": kind, "value": "x"}
    silent = Trace().call("Read").events
    for negate in (False, True):
        result = judge(evaluator_of({**config, "negate": negate}), silent)
        assert (result.verdict, [a.text for a in result.assertions]) == ("fail", ["There was no answer"])
        assert result.warnings == ("there was no answer",)
    compat = judge(evaluator_of({**config, "negate": True}, compat=True), silent)
    assert compat.verdict == "pass"


@pytest.mark.parametrize("kind", ["contains", "icontains", "equals", "starts-with", "ends-with", "regex"])
def test_a_letter_with_an_accent_is_the_same_however_it_was_typed(kind: str) -> None:
    one, two = "caf\u00e9", "cafe\u0301"
    for wanted, said in ((one, two), (two, one)):
        assert score({"type": kind, "value": wanted}, Trace().text(said).events) == (1, True)
    assert score({"type": kind, "value": one}, Trace().text(two).events, compat=True) == (0, False)
