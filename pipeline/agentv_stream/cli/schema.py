"""`agentv-stream schema`: the JSON Schemas of everything that is written."""

import sys
from typing import Annotated

from agentv_stream.cli.parameters import Argument


def schema(
    name: Annotated[str | None, Argument(metavar="NAME", help="Which output; all names are listed without it.")] = None,
) -> None:
    """Print the versioned JSON Schema of an output, or the list of outputs."""
    import shutil

    from agentv_stages.model.payload import indented_json
    from agentv_stages.model.visible import visible
    from agentv_stream.cli.telling import say
    from agentv_stream.colour import palette
    from agentv_stream.documentation.schemas import SHAPES, VERSIONS, about
    from agentv_stream.documentation.schemas import schema as make
    from agentv_stream.errors import UsageError
    from agentv_stream.names import suggestion

    if name is None:
        width = shutil.get_terminal_size((200, 24)).columns if sys.stdout.isatty() else None
        paint = palette(sys.stdout)
        for key, version in VERSIONS.items():
            line = visible(f"{key:16}  {version:34}  {about(key)}", width)
            sys.stdout.write(paint("bold", line[:16]) + line[16:] + "\n")
        return
    if name not in SHAPES:
        say(UsageError(f"unknown output {name!r}{suggestion(name, SHAPES)}"))
        raise SystemExit(2)
    sys.stdout.write(indented_json(make(name)).decode())
