"""Results in Gemini's chat recordings. In: a call or a response. Out: its output, outcome and exit code."""

from msgspec import Raw, ValidationError

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Outcome, Source
from agentv_stages.model.payload import join_array
from agentv_stages.providers.gemini.outcome import failure_outcome, success_outcome
from agentv_stages.providers.gemini.parts import head_of, is_empty, parts_of
from agentv_stages.providers.gemini.wire import Call, Part, PlainCall, decode_chat, decode_plain_result, decode_response

ENDS_OF = 512  # bytes at the start and at the end of an output that show how the call ended
CANCELLATIONS = (b"[", b"C", b"T", b"O", b"R", b"U")  # the first letters of texts that report a cancelled call


def response_of(raw: Raw) -> tuple[Raw | None, bool]:
    """The part of a function response that the model reads, and whether it is an error."""
    if is_empty(raw):
        return None, False
    if head_of(raw) != b"{":
        return raw, False
    response = decode_response(raw)
    if response.output:
        return response.output, False
    if response.error:
        return response.error, True
    return raw, False


def plain_output(call: PlainCall, index: int, record: Record, source: Source, batch: Batch) -> tuple[Raw | None, bool]:
    """As `output_of`, for a result made only of responses."""
    results = call.result
    if len(results) == 1:
        response = results[0].functionResponse.response
        if response.output:
            return response.output, False
        if response.error:
            return response.error, True
    elif not results:
        return (None if is_empty(call.resultDisplay) else call.resultDisplay), False
    calls = decode_chat(record.data).toolCalls or []
    return output_of(calls[index], source, batch)


def output_of(call: Call, source: Source, batch: Batch) -> tuple[Raw | None, bool]:
    """The output that the model got; if the log has none, the output shown to the person."""
    result = call.result
    empty, head = is_empty(result), head_of(result)
    if head == b'"' and not empty:
        return result, False
    if head == b"[" or head == b"{":
        try:
            response = decode_plain_result(result)[0].functionResponse.response
            if response.output:
                return response.output, False
        except ValidationError:
            pass  # several responses, or another shape
        outputs = [
            response_of(part.functionResponse.response)
            for part in parts_of(result, source, batch)
            if isinstance(part, Part) and part.functionResponse
        ]
        texts = [output for output, _ in outputs if output is not None]
        if texts:
            failed = any(failed for _, failed in outputs)
            return (texts[0] if len(texts) == 1 else join_array(texts)), failed
        if not outputs and not empty:
            return result, False
    shown = call.resultDisplay
    return (None if is_empty(shown) else shown), False


def outcome_of(output: Raw | None, status: str | None, shell: bool) -> tuple[Outcome | None, int | None]:
    """Outcome and exit code; only the beginning and the end of a long output are examined."""
    if status == "success" and not shell and (output is None or bytes(memoryview(output)[1:2]) not in CANCELLATIONS):
        return "ok", None
    text = b""
    if output is not None:
        text = (
            bytes(output)
            if len(output) <= 2 * ENDS_OF
            else head_of(output, ENDS_OF) + bytes(memoryview(output)[-ENDS_OF:])
        )
    if status == "success":
        return success_outcome(text, shell) if text else ("ok", None)
    if status in ("error", "cancelled"):
        return failure_outcome(text, None, status == "cancelled"), None
    return None, None
