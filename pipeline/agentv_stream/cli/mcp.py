"""`agentv-stream mcp`: sessions for agents that ask."""

from pathlib import Path
from typing import Annotated

from agentv_stream.cli.parameters import Argument, Option
from agentv_stream.cli.telling import say


def mcp(
    roots: Annotated[
        list[str], Argument(metavar="ROOT...", help="Folders whose sessions may be read, PATH or PROVIDER=PATH.")
    ],
    spec: Annotated[
        list[Path] | None, Option("--spec", metavar="FILE", help="A spec that may judge sessions; repeatable.")
    ] = None,
    redact: Annotated[bool, Option("--redact/--no-redact", help="Replace secrets by markers, the default.")] = True,
) -> None:
    """Serve sessions to an agent by the Model Context Protocol, on standard input and output. Nothing is changed."""
    from agentv_stream.cli.roots import roots_there
    from agentv_stream.errors import AgentvStreamError
    from agentv_stream.mcp_server.answers import Answers
    from agentv_stream.mcp_server.serve import serve
    from agentv_stream.redaction.redaction import redaction_with
    from agentv_stream.settings import from_process

    try:
        places = roots_there(roots, None)
        serve(Answers(places, spec or (), redaction_with(from_process({})) if redact else None), say)
    except AgentvStreamError as error:
        say(error)
        raise SystemExit(error.exit_code) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None
