"""What a shell call does, decided from its text, by the same rules for every agent (docs/metrics.md, "Kinds of shell
text").

`reader` and `words` cut a text into commands (`powershell` those of PowerShell), `scripts` finds what wrappers and
shells run, `programs` (with `arguments`, `transfers` and the `tables`) judges one program, and `classify` makes one
answer of it all.
"""

from agentv_stages.shell.classify import ShellFacts, classify_shell, run_commands, runs_program
from agentv_stages.shell.words import split_shell

__all__ = ["ShellFacts", "classify_shell", "run_commands", "runs_program", "split_shell"]
