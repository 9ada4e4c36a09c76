"""The output, exit code and outcome of an ACP tool call, from `rawOutput` and `content`."""

import re

import msgspec
from msgspec import Raw

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.event import Outcome
from agentv_stages.model.payload import text_json, text_of, to_raw
from agentv_stages.providers.acp import wire

MARKER = re.compile(r"<[^<>\n]*exit code (-?\d+)>\s*\Z")
REPORT = re.compile(r"^Exit Code: (-?\d+)\s*^Signal: (\d+)", re.MULTILINE)
STATUS = re.compile(r"^\*\*Status:\*\* Command (?:failed|succeeded) with exit code (-?\d+)\s*\Z", re.MULTILINE)
SENTENCE = re.compile(r"\A(?:Command exited with code|EXIT_CODE): (-?\d+)")
DENIED = frozenset(("denied", "rejected", "permission_denied"))
TIMED_OUT = "shell tool terminated command after exceeding timeout"  # OpenCode, whose exit code is then null
CANCELLED = frozenset(("cancelled", "canceled", "aborted", "interrupted"))
REFUSAL = re.compile(r"(?i)\A\W*(?:request |tool call |user )?(?:denied|rejected|did not allow|not allowed)")


def pieces_of(content: Raw) -> list[wire.Piece]:
    if bytes(content)[:1] != b"[":
        return []
    try:
        return wire.decode_pieces(content)
    except msgspec.MsgspecError:
        return []


def diff_of(pieces: list[wire.Piece]) -> wire.Piece | None:
    return next((piece for piece in pieces if piece.type == "diff"), None)


def only_new_files(pieces: list[wire.Piece]) -> bool:
    """Whether the diffs in a call's content show files that did not exist: by the protocol their old text is null."""
    diffs = [piece for piece in pieces if piece.type == "diff"]
    return bool(diffs) and all(bytes(diff.oldText) == b"null" for diff in diffs)


def files_of(pieces: list[wire.Piece]) -> tuple[str, ...]:
    """The files of the diffs in a call's content."""
    diffs = [piece for piece in pieces if piece.type == "diff"]
    if not diffs:
        return ()
    named = [path for diff in diffs for path in (diff.path, *(change.path for change in diff.changes or ()))]
    return tuple(dict.fromkeys(path for path in named if path))


def shown_text(pieces: list[wire.Piece]) -> Raw | None:
    """The texts of a call's content, joined; None if there are none."""
    texts = [p.content.text for p in pieces if p.content is not None and p.content.text not in wire.NOTHING]
    if len(texts) == 1:
        return texts[0]
    return to_raw("".join(map(text_of, texts))) if texts else None


def ended(
    status: str, raw: Raw, content: Raw, kind: str | None, habits: AcpHabits
) -> tuple[Raw | None, int | None, Outcome | None]:
    """Output, exit code and outcome of a call that ended.

    All agents report a failed shell command as `completed`; its exit code is in the raw output (Copilot, OpenCode,
    OpenHands) or in the text (Qwen, deepagents, nanocoder, and Kimi, which says `failed`). Gemini gives none.
    """
    output, code, reason = _raw_output(raw)
    if output is None or habits.shown_output:
        shown = shown_text(pieces_of(content))
        output = shown if shown is not None else output
    outcome: Outcome = "error" if status == "failed" else "cancelled" if status == "cancelled" else "ok"
    if reason in DENIED:
        outcome = "denied"
    elif reason in CANCELLED:
        outcome = "cancelled"
    if code is None and output is not None and kind == "execute":
        text = text_of(output)
        tail = text[-200:]
        if outcome == "ok" and TIMED_OUT in text[-400:]:
            outcome = "error"
        found = MARKER.search(tail) or REPORT.search(text[-400:]) or STATUS.search(tail) or SENTENCE.match(text)
        if found:
            code = int(found[1])
            if found.re is REPORT and found[2] != "0":
                code, outcome = code or None, "error"
    if code and outcome == "ok":
        outcome = "error"
    if outcome == "error" and status == "failed" and output is not None and REFUSAL.match(text_of(output)[:60]):
        outcome = "denied"
    if outcome == "error" and output is not None and habits.failure is not None:
        found_failure = habits.failure(output, status == "failed")
        outcome, code = (outcome, code) if found_failure is None else found_failure
    return output, code, outcome


def _raw_output(raw: Raw) -> tuple[Raw | None, int | None, str | None]:
    if raw in wire.NOTHING:
        return None, None, None
    if bytes(raw)[:1] != b"{":
        return raw, None, None
    try:
        value = wire.decode_output(raw)
    except msgspec.MsgspecError:
        return raw, None, None
    if value.observation is not None:
        code = value.observation.exit_code
        return text_json(value.observation.content), None if code == -1 else code, None
    code = value.exitCode if value.exitCode is not None else value.exit_code
    if code is None and value.metadata is not None:
        code = value.metadata.exit
    if code is None:
        code = next((content.exitCode for content in value.contents or () if content.exitCode is not None), None)
    for text in (value.content, value.output, value.error, value.message):
        if text not in wire.NOTHING:
            return text, code, value.code if isinstance(value.code, str) else None
    return raw, code, None
