"""An abstract session, before any agent has written it: prompts, the model's answers, their calls; and how to draw one.

Nothing here knows a format or the project's code. `number` of a call and of an answer is its place in the session,
from 1, sub-agents included: writers make ids of it.
"""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

Verb: TypeAlias = Literal[
    "read", "search", "find", "list", "edit", "create", "run", "plan", "fetch", "mcp", "unknown", "delegate"
]
Outcome: TypeAlias = Literal["ok", "error", "denied", "unpaired"]
End: TypeAlias = Literal["complete", "cut"]


class Usage(Struct, frozen=True):
    """Tokens of one model call; the input is `fresh + cached + written`, `reasoning` is a part of `output`."""

    fresh: int
    cached: int
    written: int
    output: int
    reasoning: int

    @property
    def input(self) -> int:
        return self.fresh + self.cached + self.written


class Call(Struct, frozen=True):
    """One tool call. `target` is a path, a pattern, a command, a URL, `server/tool` or a name; `text` what is written,
    planned or asked. Results come in the order of `rank`. `exit_code` is there for commands that ran."""

    verb: Verb
    target: str
    text: str
    outcome: Outcome
    output: str
    rank: int
    exit_code: int | None = None
    inner: tuple["Answer", ...] = ()
    number: int = 0


class Answer(Struct, frozen=True):
    """One answer of the model; empty strings where it thinks or says nothing. `final`: it asks for no tools.
    `whole` is False where the session was cut while it was written."""

    thinking: str
    text: str
    calls: tuple[Call, ...]
    usage: Usage
    final: bool
    whole: bool = True
    number: int = 0

    @property
    def empty(self) -> bool:
        return not (self.thinking or self.text or self.calls)

    @property
    def results(self) -> list[Call]:
        """The calls that got a result, in the order of their results."""
        return sorted((call for call in self.calls if call.outcome != "unpaired"), key=lambda call: call.rank)

    @property
    def working(self) -> list[Call]:
        """The calls that something is known of behind them: a sub-agent's answers, a result."""
        return [*self.results, *(call for call in self.calls if call.outcome == "unpaired" and call.inner)]


class Prompt(Struct, frozen=True):
    """What the user says, and the model's answers to it; the last one asks for no tool, unless the session is cut."""

    text: str
    answers: tuple[Answer, ...]


class Scenario(Struct, frozen=True):
    """A session. What calls of one answer do comes one behind the other, by `rank`, or, where `mixed` is not 0, in an
    order that it decides: sub-agents at the same time, results before the answer's next block."""

    prompts: tuple[Prompt, ...]
    end: End
    mixed: int = 0

    @property
    def answers(self) -> list[Answer]:
        """Those of the main stream."""
        return [answer for prompt in self.prompts for answer in prompt.answers]


def all_answers(answers: list[Answer]) -> Iterator[Answer]:
    """Each answer, and behind it those of the sub-agents that it started."""
    for answer in answers:
        yield answer
        for call in answer.calls:
            yield from all_answers(list(call.inner))


def changed(
    scenario: Scenario,
    answer: Callable[[Answer], Answer | None],
    *,
    inner: Callable[[Answer], Answer | None] | None = None,
) -> Scenario:
    """The scenario with each answer replaced, or left out for None; `inner` is for those of sub-agents."""

    def through(change: Callable[[Answer], Answer | None], answers: tuple[Answer, ...]) -> tuple[Answer, ...]:
        made = (change(one) for one in answers)
        return tuple(replace(one, calls=tuple(map(deep, one.calls))) for one in made if one is not None)

    def deep(call: Call) -> Call:
        return replace(call, inner=through(inner or answer, call.inner)) if call.inner else call

    prompts = (replace(prompt, answers=through(answer, prompt.answers)) for prompt in scenario.prompts)
    return replace(scenario, prompts=tuple(prompts))


def changed_calls(scenario: Scenario, change: Callable[[Call], Call | None]) -> Scenario:
    """The scenario with each call replaced, or left out for None."""

    def of(answer: Answer) -> Answer:
        made = (change(call) for call in answer.calls)
        return replace(answer, calls=tuple(call for call in made if call is not None))

    return changed(scenario, of)


def numbered(scenario: Scenario) -> Scenario:
    """Numbers answers and calls, in the order in which a sub-agent's come behind the call that started it."""
    answers = calls = 0

    def through(found: tuple[Answer, ...]) -> tuple[Answer, ...]:
        nonlocal answers, calls
        out: list[Answer] = []
        for answer in found:
            answers += 1
            mine = answers
            made: list[Call] = []
            for call in answer.calls:
                calls += 1
                number = calls
                made.append(replace(call, number=number, inner=through(call.inner)))
            out.append(replace(answer, number=mine, calls=tuple(made)))
        return tuple(out)

    return replace(scenario, prompts=tuple(replace(p, answers=through(p.answers)) for p in scenario.prompts))


PATHS = ("src/app.py", "notes/größe 1.md", "a.txt", "tests/test_app.py", "/home/ada/orchard/setup.cfg", "日本/x.py")
PATTERNS = ("def add", "TODO|FIXME", "naïve", 'say "hi"', "**/*.py")
NAMES = ("frobnicate", "summonduck", "polish")
TOOLS = ("notes/add", "notes/list_all", "tracker/open-issue", "docs/lookup")
COMMANDS = (
    "make test", "cat src/app.py", "grep -rn needle src", "ls -la", "rm -rf build", "sed -i s/a/b/ src/app.py",
    "cd /home/ada/orchard && python3 -m unittest -q", "find . -name '*.py'", "cat a.txt | grep b",
    "echo hi > notes.txt", "X=1 cargo build", "head -n 5 a.txt; rg needle", "rg --files", "cp a.txt b.txt",
    "mkdir -p out", "echo done", "npm install && rm -rf dist", 'grep "a b" x.txt | head -3',
    "printf 'ä\\n' | tee log.txt",
)  # fmt: skip
TEXTS = (
    "Done.", "Done.", "Looking at it now.", "zwei\nZeilen\n\nund mehr", '{"type":"result","is_error":true}',
    "größer ✅ 日本語 😀",
    "```py\nprint('x')\n```", "a\tb \"quoted\" \\ back", "1", "null", "data: [DONE]", " padded ", "x" * 300,
)  # fmt: skip

letters = st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), exclude_characters="\ufffd")
free_text = st.text(letters, min_size=1, max_size=12)
said = st.one_of(st.sampled_from(TEXTS), free_text.filter(lambda text: bool(text.strip())))
maybe_said = st.one_of(st.just(""), said)
tokens = st.integers(0, 5_000)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    output = draw(st.integers(1, 900))
    return Usage(draw(st.integers(1, 5_000)), draw(tokens), draw(tokens), output, draw(st.integers(0, output)))


@st.composite
def calls(draw: st.DrawFn, rank: int, verbs: tuple[Verb, ...], answered: bool = True, nests: bool = False) -> Call:
    verb = draw(st.sampled_from(verbs))
    pools = {"run": COMMANDS, "mcp": TOOLS, "unknown": NAMES, "search": PATTERNS, "find": PATTERNS}
    target = draw(st.sampled_from(pools.get(verb, PATHS)))
    outcome: Outcome = draw(st.sampled_from(("ok", "ok", "ok", "error", "denied"))) if answered else "unpaired"
    exit_code = None
    if verb == "run" and outcome in ("ok", "error"):
        exit_code = 0 if outcome == "ok" else draw(st.sampled_from((1, 2, 127)))
    inner: tuple[Answer, ...] = ()
    own: tuple[Verb, ...] = tuple(one for one in verbs if one != "delegate" or nests)
    begun = st.lists(working_answers(own, calls_at_most=2), max_size=2)
    if verb == "delegate" and outcome in ("ok", "error"):
        inner = (*draw(begun), draw(final_answers))
    elif verb == "delegate" and outcome == "unpaired":
        inner = (*draw(begun), *draw(st.lists(working_answers(own, calls_at_most=2, broken=True), max_size=1)))
    return Call(verb, target, draw(said), outcome, draw(said), rank, exit_code, inner)


@st.composite
def working_answers(
    draw: st.DrawFn, verbs: tuple[Verb, ...], calls_at_most: int = 4, broken: bool = False, nests: bool = False
) -> Answer:
    """An answer with calls; `broken` may leave any of them without a result, `nests` lets sub-agents start others."""
    ranks = draw(st.permutations(range(draw(st.integers(1, calls_at_most)))))
    made = tuple(draw(calls(rank, verbs, not broken or draw(st.booleans()), nests)) for rank in ranks)
    return Answer(draw(maybe_said), draw(maybe_said), made, draw(usages()), False)


final_answers = st.builds(Answer, maybe_said, said, st.just(()), usages(), st.just(True))
empty_answers = st.builds(Answer, st.just(""), st.just(""), st.just(()), usages(), st.just(True))


@st.composite
def scenarios(
    draw: st.DrawFn,
    verbs: tuple[Verb, ...],
    prompts: int = 3,
    resumes: bool = False,
    mixes: bool = False,
    nests: bool = False,
) -> Scenario:
    """Sessions of up to `prompts` prompts whose calls are of these verbs; numbered. `resumes`: the agent may be killed
    while it works, its calls open for ever, and go on with the next prompt. `mixes`: calls may run at the same time.
    `nests`: sub-agents may start sub-agents, one below the other."""
    end: End = draw(st.sampled_from(("complete", "complete", "cut")))
    made: list[Prompt] = []
    count = draw(st.integers(1, prompts))
    for number in range(count):
        answers = draw(st.lists(working_answers(verbs, nests=nests), max_size=3))
        killed = resumes and number < count - 1 and draw(st.sampled_from((False, False, True)))
        if not killed and (end == "complete" or number < count - 1):
            last = draw(st.sampled_from((final_answers, final_answers, final_answers, empty_answers)))
            answers.append(draw(last if number < count - 1 else final_answers))
        else:
            answers.append(draw(working_answers(verbs, broken=True, nests=nests)))
        made.append(Prompt(draw(said), tuple(answers)))
    return numbered(Scenario(tuple(made), end, draw(st.integers(0, 20)) if mixes else 0))


def atoms(scenario: Scenario) -> int:
    """How many things happen in a session: prompts, answers, calls, results, those of sub-agents too."""
    return sum(1 + sum(map(_atoms_of, prompt.answers)) for prompt in scenario.prompts)


def _atoms_of(answer: Answer) -> int:
    return 1 + len(answer.calls) + sum(1 + sum(map(_atoms_of, call.inner)) for call in answer.working)


def cut(scenario: Scenario, after: int) -> Scenario:
    """The session as it is when `after` things have happened (1 at least), in the order in which they are logged:
    an answer, its calls, then for each result what its sub-agent did, and the result. Numbers stay."""
    left = max(after, 1)
    if left >= atoms(scenario):
        return scenario

    def take() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    def through(answers: tuple[Answer, ...]) -> tuple[Answer, ...]:
        out: list[Answer] = []
        for answer in answers:
            if not take():
                break
            made = {call.number: replace(call, outcome="unpaired", inner=()) for call in answer.calls if take()}
            for call in answer.working:
                if call.number in made and left > 0:
                    inner = through(call.inner)
                    done = take()
                    made[call.number] = replace(call, inner=inner, outcome=call.outcome if done else "unpaired")
            whole = len(made) == len(answer.calls)
            out.append(replace(answer, calls=tuple(made.values()), whole=whole))
        return tuple(out)

    prompts: list[Prompt] = []
    for prompt in scenario.prompts:
        if take():
            prompts.append(replace(prompt, answers=through(prompt.answers)))
    return replace(scenario, prompts=tuple(prompts), end="cut")
