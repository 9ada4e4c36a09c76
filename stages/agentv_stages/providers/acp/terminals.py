"""Terminals in ACP: the output and exit code of a command, for the call that shows its terminal.

Version 1 has terminals of the client (`terminal/output`, `terminal/wait_for_exit`); the adapters of Codex and Claude
put `_meta.terminal_output` and `_meta.terminal_exit` beside the call itself; version 2 has `terminal_update` and
`terminal_output_chunk`, whose bytes are base64.
"""

from base64 import b64decode
from binascii import Error

from msgspec import Raw

from agentv_stages.model.event import Outcome
from agentv_stages.model.payload import text_of, to_raw
from agentv_stages.model.recent import remember
from agentv_stages.providers.acp import wire
from agentv_stages.providers.acp.results import pieces_of
from agentv_stages.providers.acp.state import AcpState, Call, Terminal

MOST = 1_000


def named(state: AcpState, terminal_id: str) -> Terminal:
    """The terminal with that id; created if it is new."""
    known = state.terminals.get(terminal_id)
    if known is None:
        known = remember(state.terminals, terminal_id, Terminal(), MOST)
    return known


def update(state: AcpState, update: wire.Update) -> None:
    """Handles `terminal_update` and `terminal_output_chunk` of version 2."""
    if update.terminalId is None:
        return
    terminal = named(state, update.terminalId)
    if update.data is not None:
        terminal.printed.append(_bytes(update.data))
    if bytes(update.output)[:1] == b"{":
        text = wire.decode_terminal_text(update.output).data
        terminal.printed = [] if text is None else [_bytes(text)]
    if update.exitStatus is not None:
        exited(terminal, update.exitStatus)


def answered(state: AcpState, terminal_id: str, result: wire.Result) -> None:
    """Handles the client's answer to `terminal/output` (all that was printed so far) or `terminal/wait_for_exit`."""
    terminal = named(state, terminal_id)
    if bytes(result.output)[:1] == b'"':
        terminal.printed = [text_of(result.output).encode("utf-8", "replace")]
    exited(terminal, result.exitStatus or wire.ExitStatus(result.exitCode, result.signal))


def exited(terminal: Terminal, status: wire.ExitStatus) -> None:
    terminal.exit_code = status.exitCode if status.exitCode is not None else terminal.exit_code
    terminal.signal = str(status.signal) if status.signal is not None else terminal.signal


def ended(
    state: AcpState, call: Call, output: Raw | None, code: int | None, outcome: Outcome | None
) -> tuple[Raw | None, int | None, Outcome | None]:
    """Adds the exit code and output of a call's terminals to its end."""
    signal = call.signal
    code = call.exit_code if code is None else code
    printed: list[bytes] = [text.encode("utf-8", "replace") for text in call.printed]
    for piece in pieces_of(call.content) if b'"terminal' in bytes(call.content) else ():
        terminal = state.terminals.pop(piece.terminalId or "", None)
        if terminal is not None:
            code = terminal.exit_code if code is None else code
            signal = signal or terminal.signal
            printed += terminal.printed
    if output is None and printed:
        output = to_raw(b"".join(printed).decode("utf-8", "replace"))
    if outcome == "ok" and (code or (code is None and signal)):
        outcome = "error"
    return output, code, outcome


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        return text.encode("utf-8", "replace")
