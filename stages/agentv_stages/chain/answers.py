"""The one rule by which records with the same message id are one model call, or several.

Servers number their answers, relays give every answer the same id, tools that publish logs write one word over all ids.
So an id alone proves nothing. What decides depends on the record (`Source.answer`):

- None: the decoder makes the ids, and uses one again only for the same answer.
- Above 0, such as the time of the answer: records with the same id and number are one answer.
- `PIECES`, or below 0: the record holds a piece of an answer, under an id of the server. Pieces with equal prompt usage
  are one answer, even if results came in between, for calls run while the answer is written. Pieces with different
  usage are several. Without usage (or with 0 tokens), a piece after a result begins another answer. So does, whatever
  the usage, a piece after an input of the user or of another request. But a piece that repeats a block of the answer
  belongs to it, unless their usage differs, or their request.

The first answer under an id keeps it; later ones get `<id>/2`, `<id>/3`… Everything after this (turns, tokens, model
calls, messages) compares ids only.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from agentv_stages.chain.contents import summed
from agentv_stages.model.event import PIECES, AssistantText, Reasoning, TokenUsage, ToolCall
from agentv_stages.model.recent import Recent

MOST_IDS = 256
MOST_ANSWERS = 64  # of one id that a new record is compared with
MOST_BLOCKS = 64  # of one answer
Prompt: TypeAlias = tuple[int | None, int | None, int | None]
Block: TypeAlias = AssistantText | Reasoning | ToolCall
Single: TypeAlias = tuple[TokenUsage, tuple[str | int, ...], int, int]
"""An answer, in short: its first tokens, marks of its blocks, results and inputs before its last record."""


class Answer(Struct, array_like=True):
    """One model call under an id that may be shared.

    `number` is what its records share, or that of its request; `prompt` is its usage as `prompt_of`, `blocks` are marks
    of its blocks. `results` and `inputs` count those on its stream before its last record. It is the `ordinal`th
    answer with its id.
    """

    id: str
    stream: str
    number: int
    prompt: Prompt | None
    blocks: list[str]
    results: int = 0
    inputs: int = 0
    ordinal: int = 1


class Counts(Protocol):
    """How many results and inputs came on a stream."""

    results: int
    inputs: int


class Answers:
    """Gives the answers of a session ids of their own; records must come in order, without copies.

    `_single` are answers whose id no other has, as they came: nearly all.
    """

    def __init__(self) -> None:
        self._recent = Recent[list[Answer]](MOST_IDS)
        self._single: dict[str, Single] = {}
        self._single_before: dict[str, Single] = {}

    def keeps_id(self, block_event: Block, usage: TokenUsage, counts: Counts) -> bool:
        """Whether a record of a block and its tokens is of an answer that no other shares its id with; notes it, as
        `piece` does.
        """
        key = usage.key
        if key != block_event.message_id or not usage.input:
            return False
        block = block_event.call_id if type(block_event) is ToolCall else len(block_event.text_json)  # type: ignore[union-attr]  # narrowed by `type`, which mypy does not follow
        single = self._single.get(key)
        if single is None:
            if key in self._single_before or self._recent.get(key) is not None:
                return False
            if len(self._single) >= MOST_IDS:
                self._single_before, self._single = self._single, {}
            self._single[key] = usage, (block,), counts.results, counts.inputs
            return True
        first, blocks, _, inputs = single
        if (
            inputs != counts.inputs
            or usage.input != first.input
            or usage.cached != first.cached
            or usage.cache_write != first.cache_write
            or usage.source.stream != first.source.stream
            or usage.source.answer != first.source.answer
            or len(blocks) >= MOST_BLOCKS
        ):
            return False
        self._single[key] = first, (*blocks, block), counts.results, inputs
        return True

    def numbered(self, message_id: str, stream: str, number: int) -> str:
        """The own id of the answer with this id and number."""
        answers = self._known(message_id) or []
        for answer in reversed(answers):
            if answer.number == number:
                return answer.id
        return self._add(answers, message_id, Answer(message_id, stream, number, None, [])).id

    def piece(
        self,
        message_id: str,
        stream: str,
        request: int,
        usage: TokenUsage | None,
        parts: Sequence[Block],
        results: int,
        inputs: int,
    ) -> Answer:
        """The answer that a record is a piece of. `request` is its `Source.answer`, `parts` are its blocks, `results`
        and `inputs` count those on the stream before it.
        """
        answers = self._known(message_id)
        prompt = (usage.input, usage.cached, usage.cache_write) if usage is not None and usage.input else None
        blocks = [mark(block, prompt is not None) for block in parts]
        if answers is None:
            answer = Answer(message_id, stream, request, prompt, blocks, results, inputs)
            self._recent.put(message_id, [answer])
            return answer
        found = _found(answers, stream, request, prompt, blocks, results, inputs)
        if found is None:
            answer = Answer(message_id, stream, request, prompt, blocks, results, inputs)
            return self._add(answers, message_id, answer)
        found.number = found.number or request
        found.prompt = found.prompt or prompt
        found.results, found.inputs = results, inputs
        found.blocks = [*found.blocks, *blocks][-MOST_BLOCKS:]
        return found

    def latest(self, message_id: str, stream: str) -> str:
        """The own id of the latest answer with this id on a stream; the id itself if there is none."""
        answers = reversed(self._known(message_id) or [])
        return next((answer.id for answer in answers if answer.stream == stream), message_id)

    def goes_on(self, usage: TokenUsage, counts: Counts) -> None:
        """Notes that a record of an answer with these tokens came again: the next record under its id is of it."""
        prompt = usage.input, usage.cached, usage.cache_write
        for answer in reversed(self._known(usage.key) or []):
            if answer.stream == usage.source.stream and answer.prompt == prompt:
                answer.results, answer.inputs = counts.results, counts.inputs
                return

    def _add(self, answers: list[Answer], message_id: str, answer: Answer) -> Answer:
        if answers:
            answer.ordinal = answers[-1].ordinal + 1
            answer.id = f"{message_id}/{answer.ordinal}"
        self._recent.put(message_id, [*answers[1 - MOST_ANSWERS :], answer])
        return answer

    def _known(self, message_id: str) -> list[Answer] | None:
        """The latest answers with this id."""
        single = self._single.pop(message_id, None) or self._single_before.pop(message_id, None)
        if single is not None:
            self._recent.put(message_id, [_answer_of(single)])
        return self._recent.get(message_id)

    def snapshot(self) -> dict[str, list[Answer]]:
        """The answers by message id."""
        singles = {key: [_answer_of(answer)] for key, answer in {**self._single_before, **self._single}.items()}
        return {**singles, **self._recent.items()}

    def restore(self, snapshot: dict[str, list[Answer]], /) -> None:
        self._recent.load(snapshot)
        self._single, self._single_before = {}, {}


def _answer_of(single: Single) -> Answer:
    usage, blocks, results, inputs = single
    source = usage.source
    prompt = usage.input, usage.cached, usage.cache_write
    return Answer(usage.key, source.stream, source.answer or PIECES, prompt, [*map(str, blocks)], results, inputs)


def mark(block: Block, counted: bool) -> str:
    """The mark that identifies a block. Where its record has tokens (`counted`), little is enough."""
    if not counted:
        return f"{summed(block):x}"
    return block.call_id if type(block) is ToolCall else str(len(block.text_json))  # type: ignore[union-attr]  # narrowed by `type`, which mypy does not follow


def _found(
    answers: Sequence[Answer],
    stream: str,
    request: int,
    prompt: Prompt | None,
    blocks: Sequence[str],
    results: int,
    inputs: int,
) -> Answer | None:
    """The answer that a piece belongs to: one with equal usage, or the latest of its stream if a usage is missing."""
    latest: Answer | None = None
    for answer in reversed(answers):
        if prompt is not None and answer.prompt == prompt:
            if _may_go_on(answer, stream, request, inputs):
                return answer
            if _repeats(answer, blocks) and not _other_request(answer, request):
                return answer
        elif latest is None and answer.stream == stream:
            latest = answer
    if latest is None or (prompt is not None and latest.prompt is not None):
        return None
    goes_on = latest.results == results and _may_go_on(latest, stream, request, inputs)
    return latest if goes_on or _repeats(latest, blocks) else None


def _may_go_on(answer: Answer, stream: str, request: int, inputs: int) -> bool:
    return answer.stream == stream and answer.inputs == inputs and not _other_request(answer, request)


def _other_request(answer: Answer, request: int) -> bool:
    return request != answer.number and PIECES not in (request, answer.number)


def _repeats(answer: Answer, blocks: Sequence[str]) -> bool:
    return any(block in answer.blocks for block in blocks)
