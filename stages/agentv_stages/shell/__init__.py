"""Decides from the text of a shell call what kind of work it does, by the same rules for every agent (docs/metrics.md,
"Kinds of shell text").

`reader` and `words` split a text into commands (with `powershell` for PowerShell). `wrappers` and `scripts` find the
commands that a program or a shell runs in turn. `subcommands` knows the options before a sub-command, `variables` the
value of `$x`. `programs` (with `arguments`, `options`, `transfers` and `tables`) judges one program, `loads` finds the
files that it reads besides, `folders` follows `cd`, `judge` combines them for a text, and `classify` is the answer.
"""

from agentv_stages.shell.classify import (
    ShellFacts,
    ShellTrace,
    classify_shell,
    may_contain,
    run_commands,
    runs_program,
    trace_shell,
)
from agentv_stages.shell.folders import known_path, path_in
from agentv_stages.shell.subcommands import without_options
from agentv_stages.shell.words import split_shell

__all__ = [
    "ShellFacts",
    "ShellTrace",
    "classify_shell",
    "known_path",
    "may_contain",
    "path_in",
    "run_commands",
    "runs_program",
    "split_shell",
    "trace_shell",
    "without_options",
]
