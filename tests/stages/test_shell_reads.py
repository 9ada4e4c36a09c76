"""Which files a shell text reads: each text is run twice, with two contents of `.env`. It reads the file if, and only
if, what it prints or leaves behind differs; a rule `kind:read(.env)` must say the same."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.event import ToolCall
from agentv_stages.providers import get_provider
from agentv_stages.shell import trace_shell
from agentv_stages.shell.tables import words
from agentv_stages.trajectory.call_form import CallForm
from support.trajectories import Trace

CONTENTS = ("KEY=one\nB=2\nC=3\n", "KEY=two\nB=\n\nC=3\n")  # of one size, with another number of lines
READ = [
    "cat .env", "cat < .env", "cat <.env >copy", "echo $(cat .env)", "echo $(< .env)", "x=$(<.env); echo \"$x\"",
    "head -n 1 .env", "tail -n 3 .env", "nl .env", "tac .env", "rev .env", "wc -l .env", "wc -l < .env", "od -c .env",
    "xxd .env", "hexdump -C .env", "strings .env", "base64 .env", "base32 .env", "md5sum .env", "sha256sum other .env",
    "sort .env", "sort -o copy .env", "sort -u .env -o copy", "uniq .env", "uniq .env copy", "cut -d= -f2 .env",
    "paste .env", "fold -w 3 .env", "expand .env", "pr .env", "fmt .env", "tr a-z A-Z < .env", "column -t .env",
    "comm .env other", "join .env .env", "diff .env other", "diff other .env", "cmp .env other",
    "diff <(cat .env) other",
    "grep KEY .env", "grep -n -e KEY -- .env", "grep -c '' .env other", "egrep 'K|Z' .env", "fgrep o .env",
    "zgrep o .env",
    "grep -f .env other", "grep -r KEY .env", "rg . .env", "ag KEY .env", "sed -n p .env", "sed -n -e p .env",
    "sed s/K/k/ other .env", "awk '{print}' .env", "awk -F= '{print $2}' .env",
    "awk 'NR==FNR{print}' .env other", "gawk 1 .env", "perl -ne print .env", "perl -pe s/a/b/ .env", "jq -R . .env",
    "source .env; echo $KEY", ". .env; echo $KEY", ". ./.env && set | grep KEY", "set -a; . ./.env; set +a; env",
    "source ./.env && printf '%s' $KEY", "export $(cat .env | head -n1) && env", "env $(grep KEY .env) env",
    "while read -r line; do echo $line; done < .env", "mapfile -t a < .env; echo ${a[0]}", "read -r a < .env; echo $a",
    "exec 3< .env; cat <&3", "cat 0<.env", "xargs -a .env echo", "xargs echo < .env", "tee copy < .env >/dev/null",
    "cp .env copy", "cp other .env dir", "cp -t dir .env", "install -m 600 .env copy", "dd if=.env of=copy status=none",
    "dd if=.env status=none", "tar cf - .env | cat", "tar -cf copy.tar .env", "tar czf - .env other",
    "zip -q copy.zip .env",
    "gzip -c .env", "bzip2 -kc .env", "curl -s -d @.env file:///none -o x; cat .env", "openssl enc -base64 -in .env",
    "iconv -f utf-8 -t utf-16 .env", "split -b 4 .env part.", "cat dir/../.env", "cd dir && cat ../.env",
    "(cd dir; cat ../.env)", "cat $PWD/.env", "cat \"$PWD\"/.env", "cat ./.env", "cat ~/.env", "cat $HOME/.env",
    "cat \"${HOME}/.env\"", "cd ~ && cat .env", "cd; cat .env", "cat .e*", "cat .en?", "cat .{env,none}", "cat '.env'",
    "cat .e\\nv", "cat $'.env'", "cat \".e\"nv", "bash -c 'cat .env'", "sh -c \"cat .env\"", "eval cat .env",
    "timeout 5 cat .env", "nice cat .env", "env A=1 cat .env", "xargs cat <<< .env", "echo .env | xargs cat",
    "find . -name .env -exec cat {} +", "find . -name .env -exec grep KEY {} \\;", "find . -name '.e*' | xargs cat",
    "find . -name .env -print0 | xargs -0 grep -H KEY", "trap 'cat .env' EXIT", "bash <<END\ncat .env\nEND\n",
    "cat <<END\n$(cat .env)\nEND\n", "cat other | cat .env -", "cat .env | grep -c one", "cat other .env | wc -l",
    "if grep -q one .env; then echo yes; fi", "[[ $(cat .env) == *one* ]] && echo yes",
    "echo .env | xargs -I% cat %", "printf '%s\\n' .env | xargs -n1 cat", "echo .env | xargs sh -c 'cat .env'",
    "cat .env > copy", "cat .env >> other", "cat .env other > copy", "for i in 1; do cat .env; done",
    "git diff --no-index other .env", "git init -q . && git add .env && git show :.env", "git hash-object .env",
    "git grep --no-index -h KEY -- .env", "command cat .env", "\\cat .env", "/bin/cat .env", "cat -- .env",
    "vim -es -c '%p' -c q .env",
]  # fmt: skip
UNREAD = [
    "test -f .env", "[ -e .env ] && echo yes", "[[ -s .env ]] && echo yes", "echo .env", "printf '%s\\n' .env",
    "rm -f .env", "touch .env", "chmod 600 .env", "echo x > .env", "basename .env", "cat other", "grep .env other",
    "grep -c KEY other", "find . -name .env", "cat <<< .env", "cat <<END\n.env\nEND\n", "true < other",
    "cat .env.example",
    "grep KEY .env.example", "sed -n p other", "mkdir -p .env.d", "cp other .env", "tee .env < other", "x=.env; true",
    "dd if=other of=.env status=none", "awk '/.env/' other", "cat other # .env", "cat other | grep .env",
    "sort -o .env other", "tar cf x.tar other", "cat dir/.env.d/x", "echo $(basename .env)", "cat other > .env",
    "grep -v -e .env other", "sed s/.env/x/ other", "head -n 1 other", "cat x.env", "ls dir", "cd .env 2>/dev/null",
    "echo 'cat .env'", "echo \"cat .env\" >> other", "git init -q .", "echo cat .env", "true cat .env",
    "find dir -type f",
    "find . -name .env -exec true {} +", "export FILE=.env", "alias show='cat .env'", "cat other || cat .env",
    "cat dir/file", "wc -l other", "echo .env | wc -c", "xargs -a other echo", "diff other other", "cat *.md", "cat o*",
]  # fmt: skip
NEVER_RUN = ("cat other || cat .env",)
"""What the text does not run in this folder, but would in another."""


def outcome(folder: Path, text: str, content: str) -> tuple[bytes, dict[str, bytes]]:
    """What a text prints, and the files that it leaves, with this content of `.env`."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "dir" / ".env.d").mkdir(parents=True)
    for name in ("other", "dir/file", "dir/.env.d/x", ".env.example", "x.env", "a.md"):
        (folder / name).write_text("KEY=other\n")
    (folder / ".env").write_text(content)
    for path in folder.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    run = subprocess.run(
        ["bash", "-c", text], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=60, check=False,
    )  # fmt: skip
    left = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    ours = {name: path.read_bytes() for name, path in left.items() if name != ".env" and not name.startswith(".git/")}
    return run.stdout, ours


def reads(command: str, folder: str, form: str = "kind:read(.env)") -> bool:
    [call] = Trace().call("Bash", {"command": command}, result=False).events
    assert isinstance(call, ToolCall)
    return CallForm(form).fits(Normalize(get_provider("claude").tools).call(call), folder)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_text_reads_a_file_if_its_outcome_depends_on_the_contents(tmp_path: Path) -> None:
    wrong: list[str] = []
    for text in (*READ, *UNREAD):
        names = [name for name, _ in trace_shell(text).programs]
        if any(shutil.which(name) is None for name in names if name not in BUILT_IN):
            continue
        first, second = (outcome(tmp_path / "w", text, content) for content in CONTENTS)
        said = reads(text, str(tmp_path / "w"))
        if (first != second) != said and text not in NEVER_RUN:
            wrong.append(f"{text!r}: {'reads' if first != second else 'does not read'}\n   {trace_shell(text)}")
    assert not wrong, "\n".join(wrong)


BUILT_IN = words("source . cd set exec eval trap read mapfile export alias command env f printf echo test [ true x")
