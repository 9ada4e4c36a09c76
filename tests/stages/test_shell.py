"""What shell texts do: the tables of agtrace and its misses, quoting, wrappers, pipes, redirections, hostile texts."""

from shlex import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentv_stages.model.event import Kind
from agentv_stages.shell import classify_shell, run_commands, runs_program, split_shell, words
from agentv_stages.shell.reader import MAX_COMMANDS, Reader
from agentv_stages.shell.wrappers import WRAPPERS

PATCH = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch\n"

FINER: list[tuple[str, str, str | None, str | None]] = [
    # agtrace's own cases
    ("grep pattern file.txt", "Grep", "file.txt", "pattern"),
    ('rg -n "context window" docs -S', "Grep", "docs", "context window"),
    ('ag "pattern" src/', "Grep", "src/", "pattern"),
    ("ack TODO crates/", "Grep", "crates/", "TODO"),
    ("rg --files docs", "Glob", "docs", None),
    ("rg -l pattern src/", "Grep", "src/", "pattern"),
    ("rg --files-with-matches pattern src", "Grep", "src", "pattern"),
    ("rg --files-without-match pattern src", "Grep", "src", "pattern"),
    ("cat file.txt", "Read", "file.txt", None),
    ("sed -n '1,200p' file.txt", "Read", "file.txt", None),
    (
        "sed -n 1,200p packages/extension-inspector/src/App.tsx",
        "Read",
        "packages/extension-inspector/src/App.tsx",
        None,
    ),
    ("ls -la", "LS", None, None),
    ("bash -lc cat file.txt", "Read", "file.txt", None),
    ("grep -n TODO src/main.rs", "Grep", "src/main.rs", "TODO"),
    # what agtrace misses
    ("bash -lc 'cat x'", "Read", "x", None),
    ("cd dir && cat x", "Read", "dir/x", None),
    ("cd ~/../ada && cat x", "Read", "~/../ada/x", None),
    ("LANG=C TZ=UTC cat x", "Read", "x", None),
    ("cat a | head -5", "Read", "a", None),
    ("zsh -lc 'ls src'", "LS", "src", None),
    ("sh -c 'grep foo bar'", "Grep", "bar", "foo"),
    ("nl -ba x.py", "Read", "x.py", None),
    ("jq .name package.json", "Read", "package.json", None),
    ("jq --tab .name package.json", "Read", "package.json", None),
    ("jq -r --arg v 1 --slurpfile all b.json '.[$v]' a.json", "Read", "a.json", None),
    ("yq --arg v 1 -o json -p yaml -I 2 .name a.yaml", "Read", "a.yaml", None),
    ("yq -P .name a.yaml", "Read", "a.yaml", None),
    ("yq eval .name a.yaml", "Read", "a.yaml", None),
    ("gzip -dc a.gz | head", "Read", "a.gz", None),
    ("zstd -d --stdout a.zst", "Read", "a.zst", None),
    ("shasum -a 256 a", "Read", "a", None),
    ("base64 -w 0 a", "Read", "a", None),
    ("xxd a - | head", "Read", "a", None),
    ("ast-grep run -p 'f($A)' --lang py src", "Grep", "src", "f($A)"),
    ("sg -p 'f($A)' -r 'g($A)' src", "Grep", "src", "f($A)"),
    ("git grep -n needle src", "Grep", "src", "needle"),
    ("git -C sub --no-pager grep needle", "Grep", None, "needle"),
    ("grep -A 3 foo x", "Grep", "x", "foo"),
    ("grep -rn -e one --include '*.py' src", "Grep", "src", "one"),
    # searching for files
    ("find . -name '*.py' -not -path './.git/*'", "Glob", ".", "*.py"),
    ("fd -e py main src", "Glob", "src", "main"),
    ("rg --files -g '*.md'", "Glob", None, "*.md"),
    ("find . -name x | xargs grep foo", "Glob", ".", "x"),
    ("find . -type f -exec cat {} +", "Glob", ".", None),
    # options with values, several files, standard input
    ("head -n 20 a.py", "Read", "a.py", None),
    ("head -20 a.py b.py", "Read", "a.py", None),
    ("tail -c 100 log", "Read", "log", None),
    ("tail -fn 5 a", "Read", "a", None),
    ("head -qn 5 -c5 a", "Read", "a", None),
    ("sort -t, -rnk 2 a", "Read", "a", None),
    ("sed -ne 1p -e 3p a", "Read", "a", None),
    ("sed -nEf script a", "Read", "a", None),
    ("jq -rf script.jq a", "Read", "a", None),
    ("du -hd 1 src", "Read", "src", None),
    ("nl -ba a", "Read", "a", None),
    ("xxd -ps a", "Read", "a", None),
    ("hexdump -Cn 16 a", "Read", "a", None),
    ("strings -n 8 a", "Read", "a", None),
    ("exa -TL 2 src", "LS", "src", None),
    ("eza --level 2 src", "LS", "src", None),
    ("grep -rnA 3 foo src", "Grep", "src", "foo"),
    ("grep -rne foo src", "Grep", "src", "foo"),
    ("rg -tvue -nC 3 foo src", "Grep", "src", "foo"),
    ("wc -l < data.csv", "Read", "data.csv", None),
    ("sed -n -e '1,3p' f", "Read", "f", None),
    ("awk '{print $1}' f", "Read", "f", None),
    ("awk '$1 > 5' f", "Read", "f", None),
    ("awk 'NR>=3{print NR\": \"$0} NR>9{exit}' f", "Read", "f", None),
    ("awk 'NR > 3 && NR <= 9 {printf \"%d > %s\\n\", NR, $0}' f", "Read", "f", None),
    ('awk \'/a>b|"/ {print $1} # > "g"\nNR>2{print "x"}\' f', "Read", "f", None),
    ('awk \'{print (NR > 5 ? "a" : "b")}\' f', "Read", "f", None),
    ('awk \'{print "x" > "/dev/stderr"; print $1 || $2}\' f', "Read", "f", None),
    ("cat -- -n", "Read", "-n", None),
    ("cat 'my file.txt'", "Read", "my file.txt", None),
    ("cat my\\ file.txt 2>/dev/null", "Read", "my file.txt", None),
    ("/bin/cat x", "Read", "x", None),
    ("cat $FILE", "Read", None, None),
    ("which cat && type cat && cat x", "Read", "x", None),
    ('for i in $(seq 3); do cat "$(dirname "$i")/x" y; done', "Read", None, None),
    # wrappers
    ("sudo --user root nice --adjustment 5 stdbuf --output L cat x", "Read", "x", None),
    ("sudo -u root timeout -k 5 10 env -i A=1 cat x", "Read", "x", None),
    ("nice -n 5 time cat x", "Read", "x", None),
    ("/bin/bash -lc \"bash -c 'cat x'\"", "Read", "x", None),
    ('powershell -Command "Get-Content -Path a.txt"', "Read", "a.txt", None),
    ("cmd.exe /c type a.txt", "Read", "a.txt", None),
    # control flow
    ("if [ -f x ]; then cat x; else echo no; fi", "Read", "x", None),
    ("(cd sub; cat y)", "Read", "sub/y", None),
    ("test -f x && cat x || true", "Read", "x", None),
    ("! grep -q foo bar", "Grep", "bar", "foo"),
    ("ls # then > nothing", "LS", None, None),
    ("pwd; ls src", "LS", "src", None),
    ("ls; cat a", "LS", None, None),
    ("grep '{' f", "Grep", "f", "{"),
    ("bash -euo pipefail -c 'cat x'", "Read", "x", None),
    ("bash -euoc pipefail 'cat x'", "Read", "x", None),
    ("bash --rcfile f -o errexit -c 'cat x'", "Read", "x", None),
    ("time -p cat x", "Read", "x", None),
    ("time -l -f %e cat x; time -v", "Read", "x", None),
    ('show() { sed -n "$1" x; }; show 1p; show 3p', "Read", "x", None),
    ("show ()\n{\n  cat x\n}\nshow | head", "Read", "x", None),
    ("function show { cat x; }; if show; then show; fi", "Read", "x", None),
    ("function show()\n{ cat x; }\nshow", "Read", "x", None),
    ("show() (cd y; cat x); echo $(show)", "Read", "y/x", None),
    ("find -L src -name x", "Glob", "src", "x"),
    ("while read -r f; do cat $f; done < list", "Read", None, None),
    ("mapfile -t files < list; cat a", "Read", "a", None),
    ("Get-Content -TotalCount 5 a.txt", "Read", "a.txt", None),
    ("Get-Content -Tail 5 -LITERALPATH a.txt", "Read", "a.txt", None),
    ("type dir\\\\a", "Read", "dir\\a", None),
    ("bash -s <<'E'\ncat x\nE", "Read", "x", None),
    ("cat a; ls", "Read", "a", None),
]


@pytest.mark.parametrize(("command", "tool", "path", "pattern"), FINER)
def test_reads_and_searches_bear_the_finer_name_with_path_and_pattern(
    command: str, tool: str, path: str | None, pattern: str | None
) -> None:
    facts = classify_shell(command)
    assert (facts.tool_name, facts.path, facts.pattern, facts.writes_file) == (tool, path, pattern, False)
    assert facts.kind == ("read" if tool in ("Read", "LS") else "search")


EXECUTES = [
    "echo hello",
    "python script.py",
    "cd src",
    "",
    "   ",
    "A=1",
    "git status",
    "make 2>&1 | tail -5",
    "cargo test 2>/dev/null",
    "make 1>&-",
    "make >&2-",
    "make <& f",
    "cat a; python b.py",
    "python b.py && cat a",
    "curl -sS http://localhost/x",
    "sleep 2; echo done",
    "seq 1 400",
    "bash script.sh",
    "bash -lc",
    "$TOOL cat x",
    "python - <<'E'\nopen('x', 'w')\nE",
    "cat <<E\n> f\nrm -rf /\nE",
    "echo 'a > b'",
    'echo "a > b" >&2',
    "ps aux | grep x",
    "[[ a > b ]]",
    "tee /dev/null",
    "perl -ne 'print if /i/' f",
    "ruby -rdigest -e 'puts 1'",
    "perl -F/i/ -e 'print $F[0]' f",
    "rm --help",
    "./install",
    "scripts/install x",
    "rg --version",
    "sg docker -c 'rm x'",
    "ast-grep scan src",
    "7z l a.7z",
    "gzip -l a.gz",
    "xz -t a.xz",
    "make | gzip | wc -c",
    "find . -exec python {} ;",
    "xargs python",
    "type python",
    "type -a ls",
    "patch --dry-run -p1 < x.patch",
    "rsync -avn a b",
    "curl -s http://localhost",
    "curl -XPOST -o /dev/null -w '%{http_code}' http://localhost",
    "wget -qO- http://localhost",
    "wget -O - http://localhost",
    "wget --output-document=- http://localhost/O",
    "wget --spider http://localhost",
    "tar tzf a.tgz",
    "tar -xOf a.tgz x",
    "tar cz src",
    "tar -czf - src",
    "unzip -l a.zip",
    "unzip -p a.zip x",
    "git apply --check x.patch",
    "git checkout main",
    "git checkout -",
    "git checkout -qb new origin/main",
    "git checkout --orphan new main",
    "git restore -S f",
    "git apply --stat x.patch",
    "git rm --cached f",
    "git restore --staged f",
    "git clean -nd",
    "git clean -ndf",
    "git -C sub log -- f",
    "echo x > /dev/tcp/localhost/80",
    "bash script.sh <<'E'\nrm x\nE",
    "f() { python x; }; f",
    "f() { cat x; }; g",
    "f() { cat x; }; bash -c f",
    "awk '{print | \"sort\"}' f",
    "awk 'BEGIN{while ((\"date\" | getline d) > 0) print d > 5}' f",
    "awk '{system(\"make\")}' f",
]


@pytest.mark.parametrize("command", EXECUTES)
def test_what_cannot_be_decided_or_does_nothing_executes(command: str) -> None:
    facts = classify_shell(command)
    assert (facts.kind, facts.tool_name, facts.writes_file) == ("execute", "Bash", False)


WRITES = [
    "make >& log",
    "su bruno -c 'rm x'",
    "sed -i 's/foo/bar/' file.txt",
    "sed -i.bak s/a/b/ f",
    "sed -E -i s/a/b/ f",
    "sed -ni 1p f",
    "mkdir -p dir",
    "rm file.txt",
    "cp a b",
    "mv a b",
    "touch x",
    "echo x > f",
    "echo x >> f",
    "echo x >| f",
    "echo x>f",
    "python a.py > out.log 2>&1",
    "python a.py &> out.log",
    "cat <<'EOF' > x\nbody\nEOF",
    "cat > x <<EOF\nbody",
    "echo x | tee f",
    "cat a | tee -a b | wc -l",
    "cat a; rm b",
    "cat a > b",
    "perl -pi -e 's/a/b/' f",
    "find . -name '*.pyc' -delete",
    "find . -name x -exec rm {} +",
    "find . | xargs rm",
    "bash -lc 'echo x > y'",
    r"bash -lc $'cd x\nrm \'a b\''",
    "for f in a b; do rm $f; done",
    "x=$(rm f)",
    "if true; then echo x > y; fi",
    "gawk -i inplace '{print}' f",
    "awk '{print > \"out\"}' f",
    'awk \'NR>2{printf("%s", $0) >> $1 ".txt"; next} {print}\' f',
    "sort -o f f",
    "Set-Content -Path a -Value b",
    "sort -uo f f",
    "patch -p1 < x.patch",
    "rsync -av a b",
    "curl -fsSLo f http://localhost",
    "curl -of http://localhost",
    "curl -O http://localhost/f",
    "curl --output f http://localhost",
    "wget http://localhost/f",
    "wget -qO f http://localhost",
    "wget --output-document=f http://localhost",
    "tar xzf a.tgz",
    "tar -C d -xf a.tar",
    "tar -czf a.tgz src",
    "gzip -9 a",
    "gunzip a.gz",
    "zstd -q a",
    "zip -r a.zip src",
    "7z x a.7z",
    "split -l 9 a",
    "uniq a out",
    "xxd -r -p a out",
    "ast-grep -p a -r b -U src",
    "yq e -i .a=1 f",
    "yq --in-place .a=1 f",
    "/usr/bin/install a b",
    "tar --extract --file a.tar",
    "unzip -qo a.zip -d d",
    "git apply x.patch",
    "git mv a b",
    "git rm f",
    "git restore f",
    "git checkout HEAD -- f",
    "git checkout HEAD~1 f",
    "git checkout .",
    "git checkout -q ./f",
    "git checkout --theirs f",
    "git restore --staged --worktree f",
    "git restore -SW f",
    "git apply --stat --apply x.patch",
    "git clean --force -d",
    "git -C sub clean -fd",
    "bash <<'E'\nrm x\nE",
    "f() { rm x; }; f",
    "f () { echo x > y; }",
    "function f { rm x; }; f",
    "function f() { rm x; }",
    "f() {\n  rm x\n}\nf",
    "while read -r f; do rm $f; done < list",
]


@pytest.mark.parametrize("command", WRITES)
def test_a_command_that_changes_a_file_writes(command: str) -> None:
    facts = classify_shell(command)
    assert (facts.kind, facts.tool_name, facts.writes_file, facts.patch) == ("write", "Bash", True, None)


@pytest.mark.parametrize(
    "around",
    [
        "bash -lc {quoted}",
        "cd .; bash -lc {quoted}",
        "eval {quoted}",
        "(\n{text}\n)",
        "{{\n{text}\n}}",
        "if true; then\n{text}\nfi",
        "echo $(\n{text}\n)",
        "run() {{\n{text}\n}}\nrun",
        "sudo bash -s <<'END'\n{text}\nEND",
        "# it's > x\n{text}\ntrue",
    ],
)
def test_what_is_around_a_text_changes_nothing(around: str) -> None:
    for text in (*(case[0] for case in FINER), "cat a; tail -n 1 b c", *EXECUTES, *WRITES):
        alone = classify_shell(text)
        if not text.startswith("cmd"):  # what a shell of Windows takes for a script has no quotes left
            facts = classify_shell(around.format(text=text, quoted=quote(text)))
            assert facts._replace(programs=(), script="") == alone._replace(programs=(), script=""), text


def test_targets_that_are_no_known_files_are_not_named() -> None:
    facts = classify_shell('echo a > "$OUT/x"; echo b > `mktemp`; echo c > "a $b"; echo d > real')
    assert (facts.kind, facts.writes_file, facts.written) == ("write", True, ("real",))


@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{PATCH}EOF",
        f"cd src && apply_patch <<'EOF'\n{PATCH}EOF\n",
        f"bash -lc \"apply_patch <<'EOF'\n{PATCH}EOF\n\"",
        f"cat <<'EOF' | apply_patch\n{PATCH}EOF",
        f"apply_patch '{PATCH}'",
    ],
)
def test_a_patch_through_the_shell_is_found_with_its_text(command: str) -> None:
    facts = classify_shell(command)
    assert facts.patch is not None and "*** Add File: new.txt" in facts.patch
    assert (facts.kind, facts.writes_file) == ("write", False)


@pytest.mark.parametrize(
    ("words", "kind", "script"),
    [
        (["bash", "-lc", "cat x && rm y"], "write", "cat x && rm y"),
        (["cat", "a file; rm -rf"], "read", "cat a file; rm -rf"),
        (["apply_patch", PATCH], "write", f"apply_patch {PATCH}"),
        (["/bin/zsh", "-c", "ls"], "read", "ls"),
        ([], "execute", ""),
    ],
)
def test_arrays_of_words_are_taken_as_they_are(words: list[str], kind: Kind, script: str) -> None:
    facts = classify_shell(words)
    assert (facts.kind, facts.script) == (kind, script)


@pytest.mark.parametrize(
    "command",
    [
        "bobbin search foo",
        "/usr/bin/bobbin search foo",
        "cd x && bobbin search foo | head",
        "A=1 bobbin status",
        "npx bobbin search x",
        "npx -y bobbin@1.2 search x",
        "uv run bobbin",
        "uv run --with foo bobbin index",
        "sudo bobbin index",
        "echo $(bobbin status)",
        'echo "at `bobbin status`"',
        "bash -lc 'bobbin search x'",
        "if bobbin status; then ls; fi",
        "find . | xargs -n 1 bobbin",
        "timeout 10 bobbin search",
        "time -l bobbin search",
    ],
)
def test_a_watched_program_is_found_at_command_position(command: str) -> None:
    assert runs_program(command, "bobbin")


@pytest.mark.parametrize(
    "command",
    [
        "cat /tmp/bobbin-eval-1/x",
        "cargo run --bin bobbin",
        "rm -rf /tmp/bobbin",
        "cd /home/me/bobbin && ls",
        "echo bobbin",
        "grep -r bobbin .",
        "# bobbin search",
        "which bobbin",
        "cat <<E\nbobbin search\nE",
        "bobbin-cli search",
        "npm run bobbin",
    ],
)
def test_a_path_or_argument_that_holds_the_word_is_no_run(command: str) -> None:
    assert not runs_program(command, "bobbin")


def test_each_run_comes_with_its_own_text() -> None:
    assert run_commands("cd a && bobbin index --all; ls | bobbin search 'x y'", "bobbin") == [
        "bobbin index --all",
        "bobbin search 'x y'",
    ]
    assert run_commands("sudo '/opt/my tools/bobbin' x; \"bobbin\" y", "bobbin") == [
        "'/opt/my tools/bobbin' x",
        '"bobbin" y',
    ]


@pytest.mark.parametrize(
    "before",
    ["x=(rg a) ", "x=(a rg c) ", "  x=(rg a) y=( rg ) ", "X=rg ", "rg=1 ", "X=arg Y=rg\\ x ", "ls; x=(\nrg a\n) "],
)
def test_the_text_of_a_run_begins_behind_the_variables_before_it(before: str) -> None:
    assert run_commands(f"{before}rg b | cat", "rg") == ["rg b"]


SPLIT: list[tuple[str, list[list[list[str]]]]] = [
    ("a 'b c' | d > e 2>&1 && f", [[["a", "b c"], ["d"]], [["f"]]]),
    ("x=$(cat a) y", [[["cat", "a"]], [["x=$(cat a)", "y"]]]),
    ("a <<X\nb\nX\nc", [[["a"]], [["c"]]]),
    ("a <<-X\n\tb\n\tX\nc", [[["a"]], [["c"]]]),
    ("a &> b; c & d", [[["a"]], [["c"]], [["d"]]]),
    ("(a; b) | c", [[["a"]], [["b"]], [["c"]]]),
    ("a 'it'\"'\"'s'", [[["a", "it's"]]]),
    ("a b#c #d", [[["a", "b#c"]]]),
    ("a <(b) >(c)", [[["b"]], [["c"]], [["a"]]]),
    ("((x>1)) && a", [[["a"]]]),
    ('a "$HOME/x" $y', [[["a", "$HOME/x", "$y"]]]),
    ("a |& b || c", [[["a"], ["b"]], [["c"]]]),
    ("a 2>b 3<c <<<word", [[["a"]]]),
    ("a \\\nb", [[["a", "b"]]]),
    ("a '", [[["a", ""]]]),
    ("a ${x:-$(b c)} d", [[["b", "c"]], [["a", "${x:-$(b c)}", "d"]]]),
    ('a "${x:-${y:-"$(b "c d")"}}" ${z#\\}} e', [[["b", "c d"]], [["a", '${x:-${y:-"$(b "c d")"}}', "${z#\\}}", "e"]]]),
    ("a `b ${x:-c` d", [[["b", "${x:-c"]], [["a", "`b ${x:-c`", "d"]]]),
    (r"a $'b\\' c | d", [[["a", "b\\", "c"], ["d"]]]),
    (r"a $'it\'s\tb\q' $'", [[["a", "it's\tb\\q", ""]]]),
    ("a $'b\\", [[["a", "b"]]]),
]


@pytest.mark.parametrize(("text", "pipelines"), SPLIT)
def test_a_text_is_split_into_pipelines_of_unquoted_words(text: str, pipelines: list[list[list[str]]]) -> None:
    assert [[command.words for command in pipeline] for pipeline in split_shell(text)] == pipelines


HOSTILE = [
    *(
        "$(",
        "'",
        '"',
        "`",
        "`a",
        "a;",
        "<<A\n",
        "<<A ",
        "<<A\n$(",
        "<<A\n`a`\nA\n",
        "(",
        "((",
        "$((",
        "${",
        "${a:-${b} ",
        "${a$(",
        "$'\\'",
        "\\\n",
        "a ",
        "> ",
        "#",
        "&",
        "|",
    ),
    *("'\"`", "a=", "bash -c ", "sudo ", "if ", "x|y>z;"),
    *(
        "[[ ",
        "if [[ (",
        "a=(",
        "case x in a) ",
        "esac)",
        "$(case a in (b) ;; ",
        "Get-Item {",
        "Get-Item @'\n",
        "}\n",
        "} else ",
        "; $a = Get-Item",
        "a\\",
    ),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_end_without_blowing_up(piece: str) -> None:
    classify_shell(piece * (100_000 // len(piece)))
    classify_shell("cat x " + piece * 1_000 + "'")
    classify_shell("Get-Item " + piece * (100_000 // len(piece)) + "\\")
    classify_shell([piece * 1_000, piece])


def test_no_more_commands_are_read_than_the_cap() -> None:
    assert len(split_shell("a;" * 200_000)) <= MAX_COMMANDS + 1
    assert len(split_shell("`a`;" * 200_000)) <= 2 * MAX_COMMANDS
    assert sum(len(pipeline) for pipeline in split_shell("a|" * 200_000)) <= MAX_COMMANDS + 1


@pytest.mark.parametrize(("begin", "end"), [("eval $(", ")"), ('bash -c "$(', ')"'), ("bash -c \"bash -c '$(", ")'\"")])
def test_a_substitution_in_a_script_is_read_once(begin: str, end: str) -> None:
    one = classify_shell(f"{begin}bobbin env{end}")
    assert [name for name, _ in one.programs].count("bobbin") == 1
    deep = classify_shell(begin * 20 + "bobbin env" + end * 20)  # each level read its own twice: 2 ** 20 scripts
    assert [name for name, _ in deep.programs].count("bobbin") == 1


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("cat <<E > f\nit's $(bobbin a)\nE\nls", ["bobbin a"]),
        ("cat <<-E\n\t`bobbin a` \\`bobbin b\\` \\$(bobbin c) $((1))\n\tE", ["bobbin a"]),
        ("echo $(cat <<E\n$(bobbin a)\nE\n)", ["bobbin a"]),
        ("cat <<'E'\n$(bobbin a)\nE", []),
        ('cat <<"E"\n$(bobbin a)\nE', []),
        ("cat <<\\E\n`bobbin a`\nE", []),
        ("bash <<E\necho $(bobbin a)\nbobbin b\nE", ["bobbin a", "bobbin b"]),
        ("cat <<E | bash\necho $(bobbin a)\nbobbin b\nE", ["bobbin a", "bobbin b"]),
        ("bash <<'E'\necho $(bobbin a)\nE", ["bobbin a"]),
    ],
)
def test_substitutions_of_a_here_document_run_unless_its_mark_is_quoted(command: str, runs: list[str]) -> None:
    assert run_commands(command, "bobbin") == runs


def test_here_documents_in_here_documents_are_read_once_each() -> None:
    deep = "".join(f"cat <<E{i}\n$(" for i in range(20)) + "bobbin a" + "".join(f"\n)\nE{19 - i}" for i in range(20))
    assert len(run_commands(deep, "bobbin")) == 1
    classify_shell("cat <<E\n$(" * 20_000)


def test_what_only_the_script_expands_is_read_in_it() -> None:
    assert run_commands("bash -c 'echo $(bobbin a)' \"$(bobbin b)\"", "bobbin") == ["bobbin b", "bobbin a"]


def test_a_quote_that_ends_nowhere_is_looked_for_once() -> None:
    text = '"\\' * 200_000  # the search for a token began again at each place: minutes
    assert len(split_shell(text)) <= 1


def test_a_long_word_before_parentheses_is_looked_at_once() -> None:
    classify_shell("a" * 200_000 + " ()" * 20_000)  # was looked at for each of them: 20 s
    assert run_commands("x=(rg a); y= (rg b)", "rg") == ["rg b"]  # a list directly follows its name


def test_wrappers_and_substitutions_do_not_multiply_a_text() -> None:
    text = ("sudo " * 32 + "$(") * 20 + "A" * 100_000 + ")" * 20
    assert sum(len(program) for _, program in classify_shell(text).programs) <= 17 * len(text)  # was 640 times


def test_deep_nesting_of_shells_executes() -> None:
    assert classify_shell("bash -c " * 50 + "ls").kind in ("execute", "read")
    assert classify_shell("find . -exec " * 1_000 + "ls").kind == "search"  # was a RecursionError
    assert classify_shell("$(" * 10_000).kind == "execute"


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.sampled_from([*"'\"`$(){}[]|&;<>#\\\n \t=a1", "$(", "<<E", "bash -c ", "apply_patch "]), max_size=40)
)
def test_any_text_is_read_to_its_end(pieces: list[str]) -> None:
    facts = classify_shell("".join(pieces))
    assert facts.kind in ("read", "search", "write", "execute")


@pytest.mark.skipif(not words.FAST, reason="this Python reads with the other one alone")
@settings(max_examples=500, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*"'\"\\$|&;<>\n\r =a1", ">&", "2>", "&&", "'a b'", '"c d"', "#", "\\\n", "\\.", '"a\\"b\\.c"']
        ),
        max_size=20,
    )
)
def test_the_faster_path_reads_what_the_other_reads(pieces: list[str]) -> None:
    text = "".join(pieces)
    simple = words._split_simple(text)  # pyright: ignore[reportPrivateUsage] - its equality is the law
    if simple is not None:
        assert simple == Reader(text).read()


@pytest.mark.parametrize(
    "text",
    [
        "echo 'a && b; c' | wc -c",
        "printf '%s' x | grep -c x",
        "echo b | sort | head -n 1",
        "cd /w && echo x | tr a-z A-Z",
        'grep -q x <<< "$found"',
        "jq -r .a <<< '{}' | head -n 1",
        "sed s/a/b/ <<E\na\nE",
        "wc -l <<E | tr -d ' '\na\nE",
        "echo '{}' | jq -r .a",
        "printf 'b\\na' | sort -r | cut -c 1",
    ],
)
def test_a_filter_of_what_an_echo_says_reads_no_file(text: str) -> None:
    facts = classify_shell(text)
    assert (facts.kind, facts.tool_name, facts.path) == ("execute", "Bash", None)


@pytest.mark.parametrize(
    ("text", "kind", "tool"),
    [
        ("echo list.txt | xargs cat", "read", "Read"),
        ("echo x | grep -r x", "search", "Grep"),
        ("echo x | cat - notes.md", "read", "Read"),
        ("xargs cat <<< list.txt", "read", "Read"),
        ("grep -f - notes.md <<< x", "search", "Grep"),
        ("grep -r x <<< y", "search", "Grep"),
        ("cat notes.md | wc -l", "read", "Read"),
        ("echo a; cat notes.md | grep b", "read", "Read"),
    ],
)
def test_behind_a_pipe_files_are_still_read(text: str, kind: str, tool: str) -> None:
    facts = classify_shell(text)
    assert (facts.kind, facts.tool_name) == (kind, tool)


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("bash <<EOF\nrm x\nEOF", ["bash", "rm"]),
        ("sh -s <<'EOF'\nrm x\nEOF", ["sh", "rm"]),
        ("bash -s -- one two <<EOF\nrm x\nEOF", ["bash", "rm"]),
        ("bash /dev/stdin <<EOF\nrm x\nEOF", ["bash", "rm"]),
        ('bash <<< "rm x"', ["bash", "rm"]),
        ("cat <<'EOF' | bash\nrm x\nEOF", ["cat", "bash", "rm"]),
        ("echo 'rm x' | sudo bash -s one", ["echo", "sudo", "bash", "rm"]),
    ],
)
def test_a_shell_that_reads_its_script_does_what_the_script_does(command: str, programs: list[str]) -> None:
    facts = classify_shell(command)
    assert facts.kind == "write"
    assert [name for name, _ in facts.programs] == programs


@pytest.mark.parametrize(
    "command",
    ["bash script.sh <<EOF\nrm x\nEOF", "bash -s one < script.sh", 'echo "$(make script)" | bash', "> x | bash"],
)
def test_a_script_that_the_text_does_not_hold_executes(command: str) -> None:
    facts = classify_shell(command)
    assert "rm" not in [name for name, _ in facts.programs]
    assert facts.kind == ("write" if command[0] == ">" else "execute")
    assert [name for name, _ in facts.programs].count("make") == command.count("make")


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat a b", ("a", "b")),
        ("head -n1 a b c", ("a", "b", "c")),
        ("sed -n 1,9p a; echo ---; sed -n 1,9p b && tail -3 a", ("a", "b")),
        ("cat a | grep x", ("a",)),
        ("cat $F b", ("b",)),
        ("wc -l < a", ("a",)),
        ("jq --argjson n 1 .a a b", ("a", "b")),
        ("cat a && make", ()),
        ("ls a b", ()),
    ],
)
def test_all_files_that_reading_commands_name_are_named(command: str, files: tuple[str, ...]) -> None:
    assert classify_shell(command).files == files


def test_the_files_of_a_text_are_bounded() -> None:
    assert len(classify_shell("cat " + " ".join(f"f{n}" for n in range(1000))).files) == 100


@pytest.mark.parametrize(
    "condition",
    [
        "if [[ $a > $b ]]; then cat y; fi",
        "! [[ a > b ]] && cat y",
        "[[ -f a && 3 > 2 ]] && cat y",
        "[[ -f a || ( -f b && -f c ) ]] && cat y",
        "[[ $x =~ ^(a|b)$ ]] && cat y",
        "if (( a > b )); then cat y; fi",
        "for ((i=0; i<5; i++)); do cat y; done",
        "list=(rm 'a b' c); cat y",
        "declare -A map+=([a]=rm); cat y",
        'case "$x" in rm|touch) cat y;; *) echo no;; esac',
        'case "$x" in\n  rm)\n    cat y ;;\nesac',
        "case $x in (rm) cat y;; (touch|cp) cat y;; esac",
        "cat $(case $x in rm) cat y;; (touch) cat y;; cp) echo 'a > b';; esac)",
        "x=$(case $x in\n rm) cat y;;\n esac\n); cat y",
        "(case $x in rm) cat y;; esac\n) | cat; (cat y)",
    ],
)
def test_conditions_lists_and_patterns_are_no_commands(condition: str) -> None:
    facts = classify_shell(condition)
    assert (facts.kind, facts.files, facts.written, facts.writes_file) == ("read", ("y",), (), False)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("[[ -n $x ]] > out", "write"),
        ("echo [[ > out", "write"),
        ("list=( $(rg -l x) ); echo ${list[0]}", "search"),
        ("[[ $(rm x) ]]", "write"),
        ("case $x in a) rm y;; esac", "write"),
        ("x=1 (make)", "execute"),
    ],
)
def test_what_stands_in_and_behind_them_is_read(command: str, kind: Kind) -> None:
    assert classify_shell(command).kind == kind


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("flock /tmp/l rm x", "write"),
        ("strace -f rm x", "write"),
        ("trap 'rm x' EXIT", "write"),
        ("trap - EXIT", "execute"),
        ("git submodule foreach 'rm x'", "write"),
        ("git rebase --exec 'rm x' main", "write"),
        ("direnv exec . cat x", "read"),
        ("dotenv -- cat x", "read"),
        ("su bob -c 'cat x'", "read"),
        ("watch -n 1 cat x", "read"),
        ("at now <<'E'\nrm x\nE", "write"),
        ("crontab - <<'E'\n5 4 * * * rm x\n@daily rm y\nE", "write"),
        ("echo 'cat x' | at now", "read"),
        ("busybox cat x", "read"),
        ("env -S 'cat x'", "read"),
        ("python3 -m pytest x", "execute"),
        ("ssh host rm x", "execute"),
        ("docker exec -it box cat x", "execute"),
        ("kubectl exec pod -- rm x", "execute"),
    ],
)
def test_a_program_that_runs_another_does_what_that_does(command: str, kind: Kind) -> None:
    assert classify_shell(command).kind == kind


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git log --grep rm",
            "git rebase rm",
            "git submodule status rm",
            "docker ps rm",
            "docker build -t rm .",
            "su rm",
        ),
        *("kubectl get pod rm", "npm install rm", "uv pip install rm", "cargo run --bin rm", "python3 x.py -m rm"),
        *(
            "tmux kill-session -t rm",
            "gdb -p 1 -ex rm",
            "ssh -i rm host",
            "at -l rm",
            "python3 -c 'rm()' -m rm",
            "nix build rm",
        ),
        *(
            "docker run --name rm image ls",
            "sudo -u rm ls",
            "xargs -I rm ls rm",
            "git -C rm status",
            "watch -n 1 echo rm",
        ),
        *(
            "flock rm ls",
            "timeout 5 ls rm",
            "direnv exec rm ls",
            "poetry add rm",
            "script rm",
            "crontab rm",
        ),
    ],
)
def test_an_operand_of_a_program_that_runs_others_is_no_run(command: str) -> None:
    assert not runs_program(command, "rm")


def test_each_program_that_runs_others_has_a_source() -> None:
    assert all(row.source for row in WRAPPERS.values())


def test_many_commands_of_a_search_are_judged_once_each() -> None:
    deep = "find . " + "-exec find . " * 1_000
    assert classify_shell(deep).kind == "search"  # was read again from each of its places
    assert run_commands("find . -exec true \\; -exec rm {} + -o -exec rm x \\;", "rm") == ["rm {}", "rm x"]


@pytest.mark.parametrize(
    "text",
    [
        "printf '\\162m x' | sh",
        "printf '%s\\n' 'true' 'rm x' | bash",
        "echo -e 'true\\nrm x' | sh",
        "printf 'r\\x6d x' | sh",
    ],
)
def test_what_printf_and_echo_print_is_run_by_a_shell(text: str) -> None:
    assert run_commands(text, "rm") == ["rm x"]
