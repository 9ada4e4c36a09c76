"""The files that a shell text names as written: the shell itself is asked which ones it changes."""

import posixpath
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentv_stages.shell import classify_shell

GNU = [
    "sed -i s/a/b/ one two",
    "sed -ne s/a/b/p -i one two",
    "cp -t d one two",
    "cp --target-directory=d one",
    "cp -t d/ one",
    "mv one --target-directory d",
    "truncate -s 0 one two",
    "install -m 600 one three",
    "perl -pi -e 's/a/b/' one two",
    "perl -i -pe 's/a/b/' one",
    "perl -0777 -pi -e 's/a/b/' -- one",
]
EVERYWHERE = [
    "cp one three",
    "cp one two d",
    "cp one d/",
    "cp d/in .",
    "cp -r d/. e",
    "mv one three",
    "mv one two d/",
    "mv -- one d/",
    "rm -f one d/in",
    "rm -r -- d",
    "touch three d/new",
    "touch -t 202001010000 three",
    "mkdir -p d/y",
    "mkdir -m 700 x",
    "ln -s one three",
    "ln one two d/",
    "echo a | tee three d/in >/dev/null",
    "tee -a one <<<b",
    "dd if=two of=three 2>/dev/null",
    "sort two -o one",
    "uniq one three",
    "echo z > one && rm two",
    "cd . && rm one; if true; then touch three; fi",
    "bash -c 'rm one; touch three'",
    "cd d && rm in; touch new",
    "if cd d; then rm in; fi",
    "(cd d && rm in); (touch d/new); rm one",
    "cd d; echo $(cd ../e; rm ../d/in); rm ../one",
    "(cd d; echo $(rm in; cd ../e; rm ../one); touch new); rm two",
    "cd d && cat <<END >new\n$(cd ../e; rm ../d/in)\nEND\nrm ../one",
    "cd d >/dev/null; cd ./; rm in; cd ../e && cp ../two .",
    "cd d | true; rm one",
    "cd d; rm in; cd - >/dev/null; rm one",
    "bash -c 'cd d && bash -c \"rm in\" && touch new'; rm one",
    "sudo() { \"$@\"; }; rm 'one'",
    'for f in one two; do rm "$f"; done; touch three',
    "find . -name one -exec rm {} \\;",
    "printf 'one\\0' | xargs -0 rm",
    "printf one | xargs -I% mv % d/",
    "cat one >> two 2>/dev/null",
    "echo z | cat - one | tee two | wc -c",
    "git init -q . && git add . && git mv one three && git rm -qf two",
    "git init -q . && git add . && git -C d mv in new && git -C e -C .. rm -qf one",
    "git init -q . && git add one && echo z > one && git checkout -- one && echo z > one",
    "git init -q . && git add one && echo z > one && git restore one && rm one two",
]


NOT_NAMED = ("$f", "find", "xargs")
"""What these change is not in the text."""


def test_copies_with_their_folders_lie_below_them() -> None:
    assert classify_shell("cp --parents a/b c.py e/").written == ("e/a/b", "e/c.py")


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("patch src/a.py < fix.diff", ("src/a.py",)),
        ("patch -p 1 -i fix.diff", ()),
        ("patch -o b.py a.py fix.diff", ("b.py",)),
        ("rsync -a --exclude .git made/ tests", ("tests",)),
        ("rsync -a -e ssh made/ host:tests", ()),
        ("rsync -a host:made ./a:b", ("./a:b",)),
        ("rsync made", ()),
        ("tar -xzf a.tgz -C tests", ("tests",)),
        ("tar xzf a.tgz", ()),
        ("tar --extract --file a.tar --directory=tests", ("tests",)),
        ("unzip -qo a.zip -d tests", ("tests",)),
    ],
)
def test_what_unpacks_or_copies_over_names_its_place(command: str, written: tuple[str, ...]) -> None:
    assert (classify_shell(command).kind, classify_shell(command).written) == ("write", written)


def state(folder: Path) -> dict[str, bytes | None]:
    """Each file with its content, each folder."""
    paths = [path for path in folder.rglob("*") if ".git" not in path.parts]
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in paths}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("text", [*EVERYWHERE, *(GNU if sys.platform == "linux" else [])])
def test_named_are_the_files_that_the_shell_changes(tmp_path: Path, text: str) -> None:
    for program in ("git", "perl"):
        if program in text and shutil.which(program) is None:
            pytest.skip(f"there is no {program}")
    (tmp_path / "d").mkdir()
    (tmp_path / "e").mkdir()
    for name, content in (("one", "a\n"), ("two", "b\na\n"), ("d/in", "c\n")):
        (tmp_path / name).write_text(content)
    before = state(tmp_path)
    subprocess.run(["bash", "-c", text], cwd=tmp_path, check=True, timeout=20)
    after = state(tmp_path)
    changed = {name for name in {*before, *after} if before.get(name, b"-") != after.get(name, b"-")}
    named = {posixpath.normpath(name) for name in classify_shell(text).written if not name.startswith("/")}
    within = {name for name in changed if any(str(parent) in named for parent in Path(name).parents)}
    if any(sign in text for sign in NOT_NAMED):
        assert named <= changed
    else:
        assert changed - within == named - {"e"}  # it was there, and gets something
