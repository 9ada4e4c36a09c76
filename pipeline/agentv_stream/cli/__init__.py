"""The command line. Each command is a module; only the one called is imported, because start-up time counts."""

import gc
import os
import signal
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentv_stream.cli.examples import EXAMPLES

if TYPE_CHECKING:
    import typer

COMMANDS: dict[str, str] = {
    "consume": "agentv_stream.cli.consume:consume",
    "run": "agentv_stream.cli.run:run",
    "check": "agentv_stream.cli.check:check",
    "validate": "agentv_stream.cli.validate:validate",
    "report": "agentv_stream.cli.report:report",
    "sessions": "agentv_stream.cli.sessions:sessions",
    "show": "agentv_stream.cli.show:show",
    "search": "agentv_stream.cli.search:search",
    "tail": "agentv_stream.cli.tail:tail",
    "watch": "agentv_stream.cli.watch:watch",
    "cursors": "agentv_stream.cli.cursors:app",
    "faults": "agentv_stream.cli.faults:app",
    "import": "agentv_stream.cli.bulk:import_",
    "stats": "agentv_stream.cli.stats:stats",
    "analyze": "agentv_stream.cli.analyze:analyze",
    "query": "agentv_stream.cli.query:query",
    "page": "agentv_stream.cli.page:page",
    "redact": "agentv_stream.cli.redact:redact",
    "mcp": "agentv_stream.cli.mcp:mcp",
    "providers": "agentv_stream.cli.providers:providers",
    "tools": "agentv_stream.cli.tools:tools",
    "schema": "agentv_stream.cli.schema:schema",
    "completion": "agentv_stream.cli.completion:completion",
}

ABOUT: dict[str, str] = {
    "consume": "Read a stream from a pipe, or a finished session.",
    "run": "Run an agent and store its outputs.",
    "check": "Check finished runs against a spec.",
    "validate": "Check specs and targets files.",
    "report": "Compare approaches, with intervals.",
    "sessions": "List the sessions of this machine.",
    "show": "Show a session, to read.",
    "search": "Find a text in all sessions.",
    "tail": "Follow sessions that grow; outputs as of consume.",
    "watch": "Watch sessions at work, in a table.",
    "cursors": "How far followers have read.",
    "faults": "Records that could not be used.",
    "import": "Read many sessions; write transcripts, Parquet.",
    "stats": "Read many sessions; add up their figures.",
    "analyze": "What cost time, money or quality, with proof.",
    "query": "SQL over what import --parquet wrote.",
    "page": "Write a session as an HTML page.",
    "redact": "Copy a log, with markers for secrets.",
    "mcp": "Serve sessions to an agent that asks (MCP).",
    "providers": "Which logs are read, and which facts they lack.",
    "tools": "Which native tool is which canonical one.",
    "schema": "JSON Schemas of all outputs.",
    "completion": "Completion for bash, zsh and fish.",
}
"""The description of each command in the list of commands: short enough for 80 columns."""

FIRST_STEPS = """\b
First steps:
  codex exec --json "fix the bug" | agentv-stream consume
  agentv-stream sessions              the sessions on this machine
  agentv-stream show SESSION          one of them, to read
  agentv-stream stats --since today --by model    what they cost
  agentv-stream watch --once          how they stand, stuck ones first"""

EXIT_CODES = """\b
Exit codes: 0 fine, 1 a verdict failed (search: nothing found), 2 wrong usage,
3 the agent's run failed or the input was empty, 4 something could not be read
or written."""

PARSING: dict[str, dict[str, bool]] = {
    "consume": {"allow_extra_args": True},  # consume itself says which commands take several sources
    "run": {"allow_interspersed_args": False},  # options after the agent's name are the agent's, even without --
}


def _version(value: bool) -> None:
    if value:
        from agentv_stream.release import running_version  # 20 ms that only this option needs

        sys.stdout.write(f"agentv-stream {running_version()}\n")
        raise SystemExit(0)


def build(names: list[str]) -> "typer.Typer":
    """The application with the given commands."""
    import typer

    from agentv_stream.cli.program import PlainCommand, for_typer

    app = typer.Typer(
        name="agentv-stream",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog=FIRST_STEPS + "\n\n" + EXIT_CODES,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def top(  # pyright: ignore[reportUnusedFunction] - typer keeps it
        version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
    ) -> None:
        """Event streams of coding agents in; transcript, statistics and verdicts out, while the agent still works."""

    for name in names:
        target: Any = load(name)
        below = "\n  ".join(("\b\nExamples:", *EXAMPLES[name])) + "\n\n" + EXIT_CODES
        if isinstance(target, typer.Typer):
            app.add_typer(target, name=name, short_help=ABOUT[name], epilog=below)
        else:
            parsing = PARSING.get(name)
            add = app.command(name, cls=PlainCommand, short_help=ABOUT[name], epilog=below, context_settings=parsing)
            add(for_typer(target))
    return app


def load(name: str) -> Any:
    """The function or sub-application of a command."""
    module, _, attribute = COMMANDS[name].partition(":")
    return getattr(import_module(module), attribute)


def main() -> None:
    """The entry point of `agentv-stream`."""
    from agentv_stream.cli.standard_streams import exit_code_of, flushed, open_standard_streams
    from agentv_stream.cli.telling import quiet_stdout, tell_warnings
    from agentv_stream.errors import SinkError
    from agentv_stream.live.ctrl_c import die_of_it, raised

    die_of_it()
    open_standard_streams()
    tell_warnings()
    try:
        os.getcwd()  # noqa: PTH109 - every relative path hangs on it; pathlib costs start-up time
    except OSError as error:
        from agentv_stream.cli.telling import say
        from agentv_stream.errors import EXIT_IO

        say(f"the current folder cannot be used: {error.strerror}")
        sys.exit(EXIT_IO)
    if sys.argv[1:2] == ["_complete"]:
        from agentv_stream.cli.completion import complete

        complete(sys.argv[2:])
        sys.exit(flushed(0))
    if sys.argv[1:2] == ["help"]:
        sys.argv[1:] = [*sys.argv[2:], "--help"]
    call = called(sys.argv[1:])
    collect_rarely()
    try:
        with raised():
            call()
    except SystemExit as done:
        left = isinstance(done.__context__, BrokenPipeError)  # rich turns it into exit code 1
        code = done.code if isinstance(done.code, int) and not left else 0
    except (BrokenPipeError, SinkError) as error:
        code = exit_code_of(error)
    except KeyboardInterrupt:  # after the command has returned
        code = 128 + signal.SIGINT
    else:
        code = 0
    if code == 128 + signal.SIGINT:
        quiet_stdout()  # do not wait for a reader that does not take buffered output
    sys.exit(flushed(code))


def called(words: list[str]) -> Callable[[], object]:
    """The call that the words of the command line mean: of a command, or of typer, which reports the mistake."""
    first = words[0] if words else ""
    if words == ["--version"]:
        return partial(_version, True)
    if first not in COMMANDS:
        tell_what_is_missing(first)
        return partial(build(list(COMMANDS)), args=words, prog_name="agentv-stream")
    words = bare_options(words)
    if PARSING.get(first, {}).get("allow_interspersed_args", True):
        from agentv_stream.cli.parameters import parse

        function = load(first)
        arguments = parse(function, words[1:])
        if arguments is not None:
            return partial(function, **arguments)
    return partial(build([first]), args=words, prog_name="agentv-stream")


def collect_rarely() -> None:
    """Exempts what is loaded from garbage collections, and makes them rare: a tenth of the start-up time."""
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    gc.enable()


def tell_what_is_missing(first: str) -> None:
    """A hint before the usage if the command is missing: a file name or a pipe is given in its place."""
    hint = ""
    if os.path.isfile(first):  # noqa: PTH113 - not to raise
        command = "validate" if first.endswith((".yaml", ".yml")) else "consume"
        hint = f"`agentv-stream {command} {first}`"
    elif not first:
        with suppress(OSError):
            hint = "`… | agentv-stream consume`" if stat.S_ISFIFO(os.fstat(0).st_mode) else ""
    if hint:
        from agentv_stream.cli.telling import say

        say(f"no command was given; did you mean {hint}?")


def _is_option(next_word: list[str]) -> bool:
    """Whether the word after an option, if there is one, is another option; `-` is standard output."""
    return not next_word or (next_word[0].startswith("-") and next_word[0] != "-")


_TO_A_FILE = {("--json", "stats"), ("--json", "import"), ("--csv", "stats"), ("--csv", "sessions")}
"""Options with a file, and the commands that have them."""


def bare_options(arguments: list[str]) -> list[str]:
    """`--fail-fast` alone means `--fail-fast=report`, which typer cannot express; nothing after `--` is changed.
    `--otel` without a URL means `--otel=env`.

    Some commands write `--json` or `--csv` to a file; without a file name it goes to standard output.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    head = list(arguments[:end])
    for i, word in enumerate(head):
        if word == "--fail-fast" and (i + 1 == len(head) or head[i + 1] not in ("report", "close")):
            head[i] = "--fail-fast=report"
        elif word == "--otel" and "://" not in "".join(head[i + 1 : i + 2]):
            head[i] = "--otel=env"
        elif (word, head[0]) in _TO_A_FILE and _is_option(head[i + 1 : i + 2]):
            head[i] = f"{word}=-"
    return head + arguments[end:]
