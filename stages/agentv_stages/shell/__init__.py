"""What a shell call does, decided from its text, by the same rules for every agent (docs/metrics.md, "Kinds of shell
text").

`reader` and `words` split a text into commands (with `powershell` for PowerShell), `scripts` finds what wrappers and
shells run, `programs` (with `arguments`, `transfers` and `tables`) judges one program, `folders` follows `cd`, and
`classify` combines it all into one answer.
"""

from agentv_stages.shell.classify import ShellFacts, classify_shell, run_commands, runs_program
from agentv_stages.shell.folders import path_in
from agentv_stages.shell.words import split_shell

__all__ = ["ShellFacts", "classify_shell", "path_in", "run_commands", "runs_program", "split_shell"]
