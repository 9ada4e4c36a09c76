"""`agentv-stream analyze`: what cost sessions time, money or quality, with the calls that prove it."""

from typing import Annotated

from agentv_stream.cli.options import JsonLines, ProviderOfLog, Redact, Roots
from agentv_stream.cli.parameters import Argument


def analyze(
    sessions: Annotated[
        list[str], Argument(metavar="PATH...", help="Logs, folders, or session ids; - for standard input.")
    ],
    provider: ProviderOfLog = None,
    root: Roots = None,
    json: JsonLines = False,
    redact: Redact = None,
) -> None:
    """Name what cost a session time, money or quality: failures again, circles, re-reads, cache misses, slow calls."""
    from agentv_stream.cli.analyzing import run_analyze

    raise SystemExit(run_analyze(sessions, provider, root or (), as_json=json, redact=redact))
