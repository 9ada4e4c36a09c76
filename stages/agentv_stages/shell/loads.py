"""The files that a program prints, loads, copies or sends besides those that its kind implies: words in, paths out.

`cat` and `grep` are not here: they read the files that they name. Options are those of the programs' manual pages
(Debian 12) and help texts.
"""

from collections.abc import Callable
from typing import TypeAlias

from agentv_stages.shell.arguments import operands, value
from agentv_stages.shell.options import option_at
from agentv_stages.shell.subcommands import without_options
from agentv_stages.shell.tables import words

_Loader: TypeAlias = Callable[[str, list[str]], list[str]]

VALUES = {
    "curl": words(
        "-d --data --data-ascii --data-binary --data-raw --data-urlencode --json -F --form -T --upload-file -K "
        "--config -H --header -X --request -o --output -u --user -A --user-agent -e --referer -b --cookie -c "
        "--cookie-jar -m --max-time -x --proxy -w --write-out -r --range -E --cert --key --cacert --netrc-file --url "
        "--connect-timeout --retry --retry-delay --resolve -D --dump-header --form-string -C --continue-at "
        "--max-redirs --limit-rate -y -Y -z -P -Q -t --interface --unix-socket --capath --ciphers --proto --variable"
    ),
    "scp": words("-c -D -F -i -J -l -o -P -S -X"),
    "openssl": words("-in -inkey -key -cert -CAfile -certfile -out -pass -passin -passout -k -K -iv -kfile"),
    "gpg": words("-o -r -u --output --recipient --local-user --homedir --passphrase --passphrase-file --batch#"),
    "psql": words("-f -d -h -p -U -c -v -o -P -F -R -T -L --file --dbname --host --port --username --command --set"),
    "split": words("-a -b -C -l -n -t --bytes --lines --number --suffix-length --line-bytes --separator --filter"),
    "objdump": words("-b -m -M -j -I -E"),
    "perl": words("-e -E -I -M -m -F -l# -0# -i#"),
    "zip": words("-b -t -tt -n -i -x -P -s -O"),
    "vim": words("-c --cmd -s -S -u -U -w -W -T -t -i --servername"),
    "git": words("-n -L -S -G -O --since --until --author --grep --format --pretty --stat --unified -U --date"),
    "kubectl": words("-n --namespace --context -f --filename --from-file --from-env-file --from-literal -o --output"),
    "tar": words("-f -C -T -X -b -I -H --file --directory --files-from --exclude --exclude-from --transform --format"),
    "patch": words("-p -i -d -o --input --directory --output"),
}
"""Options that take the next word; those of programs that are judged by kind are in `tables`."""

FILES: dict[str, frozenset[str]] = {
    "curl": words("-T --upload-file -K --config --netrc-file --cert -E --key --cacert"),
    "wget": words("--post-file --body-file -i --input-file --load-cookies --config"),
    "openssl": words("-in -inkey -key -cert -kfile"), "gpg": words("--passphrase-file"),
    "psql": words("-f --file"), "mysql": words("--defaults-file --defaults-extra-file"),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose", "uv", "bun", "op", "supabase"),
                    words("--env-file --secret-file --password-file")),
    "node": words("--env-file --env-file-if-exists"), "dotenv": words("-f -e --file"),
    "kubectl": words("--from-file --from-env-file -f --filename"), "oc": words("--from-file --from-env-file -f"),
    "helm": words("-f --values"), "gh": words("-F --body-file --env-file --notes-file --input"),
    "ssh": words("-i -F"), "scp": words("-i -F"), "ssh-keygen": words("-f"), "ssh-copy-id": words("-i"),
    "git": words("-F --file --pathspec-from-file"), "xargs": words("-a --arg-file"),
    "grep": words("-f --file"), "rg": words("-f --file"), "sed": words("-f --file"), "awk": words("-f --file"),
    "jq": words("-f --from-file"), "make": words("-f --file --makefile"), "rsync": words("--password-file"),
    "tar": words("-T --files-from"), "patch": words("-i --input"), "age": words("-i --identity"),
    "sops": words("--config"), "ansible-playbook": words("--vault-password-file --extra-vars"),
    "terraform": words("-var-file"), "at": words("-f"), "crontab": frozenset[str](),
    "bash": words("--rcfile --init-file"), "mail": words("-A -a"), "mutt": words("-a -i"),
    "http": words("--cert --cert-key"),
}  # fmt: skip
"""Options whose value is a file that the program loads."""

AT: dict[str, frozenset[str]] = {
    "curl": words(
        "-d --data --data-ascii --data-binary --data-urlencode --json -F --form -H --header -b --cookie --variable"
    ),
    "gh": words("-F --field"),
}
"""Options whose value names a file after `@` (`-F name=@file`, `-d @file`), or after `<` (`-F name=<file`)."""

OPERANDS = words(
    "vim vi nvim view ex ed nano emacs pico micro kak hx objdump nm readelf pdftotext exiftool identify xmllint pandoc "
    "glow highlight pygmentize m4 cpp gpg gpg2 age sqlite3 envsubst split csplit tsort look ssh-add lp lpr wl-copy "
    "open xdg-open code subl hexedit uuencode dos2unix qrencode gron htmlq mlr csvcut csvlook csvgrep mdcat shuf "
    "sponge enscript a2ps zstdgrep aspell hunspell spell diffstat patchutils interdiff crontab sops"
)
"""Programs that print, open or send all their operands."""
_COPIES = words("cp install scp rsync copy-item cpi copy xcopy")
_GIT_PRINTS = words("diff show blame annotate cat-file log hash-object add stash archive show-ref range-diff difftool")


def loads(name: str, line: list[str]) -> tuple[str, ...]:
    """The files that a call of the program `name` (lower case) loads, as its words name them."""
    if name not in _KNOWN:
        return ()
    found: list[str] = []
    if name in FILES or name in AT:
        found += _of_options(name, line)
    special = _SPECIAL.get(name)
    if special is not None:
        found += special(name, line)
    elif name in OPERANDS:
        found += _rest(name, line)
    return tuple(found)


def _of_options(name: str, line: list[str]) -> list[str]:
    files, marked = FILES.get(name, frozenset[str]()), AT.get(name, frozenset[str]())
    taking = VALUES.get(name, frozenset[str]()) | files | marked
    found: list[str] = []
    at = 1
    while at < len(line):
        word = line[at]
        if word == "--":
            break
        if word[:1] != "-" or len(word) < 2:
            at += 1
            continue
        option, argument, at = option_at(line, at, taking)
        if argument is None:
            continue
        if option in marked:
            sign = min((i for i in (argument.find("@"), argument.find("<")) if i >= 0), default=-1)
            if sign == 0 or (sign > 0 and argument[sign - 1] == "="):
                found.append(argument[sign + 1 :].partition(";")[0])
        elif option in files:
            if name in ("kubectl", "oc") and option == "--from-file":
                argument = argument.rpartition("=")[2]
            found.append(argument)
    return found


def _rest(name: str, line: list[str]) -> list[str]:
    """The operands of a program that the tables of kinds do not know."""
    taking = VALUES.get(name, frozenset[str]())
    found: list[str] = []
    at = 1
    while at < len(line):
        if line[at] == "--":
            return found + line[at + 1 :]
        if line[at][:1] == "-" and len(line[at]) > 1:
            at = option_at(line, at, taking)[2]
        else:
            found.append(line[at])
            at += 1
    return found


def _sourced(name: str, line: list[str]) -> list[str]:
    return [word for word in line[1:] if word != "--"][:1]


def _copied(name: str, line: list[str]) -> list[str]:
    paths = _rest(name, line) if name == "scp" else operands(name, line)
    into = value(name, line, "-t", "--target-directory") if name in ("cp", "install") else None
    sources = paths if into is not None else paths[:-1]
    return [path for path in sources if ":" not in path.partition("/")[0]]


def _dd(name: str, line: list[str]) -> list[str]:
    return [word[3:] for word in line if word.startswith("if=")]


def _packed(name: str, line: list[str]) -> list[str]:
    """The files that `tar c`, `zip` and `7z a` pack; the other sub-commands read an archive."""
    if name == "zip":
        return _rest(name, line)[1:]
    if name in ("7z", "7za", "7zz"):
        return [word for word in line[3:] if not word.startswith("-")] if line[1:2] == ["a"] else []
    if len(line) < 2:
        return []
    first = line[1] if line[1].startswith("-") else "-" + line[1]
    packs = "--create" in line or any("c" in word for word in (first, *line[2:]) if word[:1] == "-" != word[1:2])
    if not packs:
        return []
    return _rest("tar", [line[0], first, *line[2:]])


def _scripted(name: str, line: list[str]) -> list[str]:
    """The files that `perl -ne`, `perl -pe` and their like print; a script in a file is not data."""
    at = 1
    script = False
    while at < len(line) and line[at][:1] == "-" and len(line[at]) > 1:
        if line[at] == "--":
            at += 1
            break
        letters = line[at][1:]
        if "e" in letters or "E" in letters:
            script = True
            at += 1
        at += 1
    return line[at:] if script else []


def _git(name: str, line: list[str]) -> list[str]:
    """Files of the working tree, and of commits (`HEAD:file`)."""
    plain = without_options("git", line)
    if len(plain) < 2 or plain[1] not in _GIT_PRINTS:
        return []
    paths = _rest("git", plain[1:])
    return [path.partition(":")[2] or path for path in paths]


_SPECIAL: dict[str, _Loader] = {
    ".": _sourced, "source": _sourced,
    **dict.fromkeys(_COPIES, _copied),
    "dd": _dd,
    **dict.fromkeys(("tar", "gtar", "bsdtar", "zip", "7z", "7za", "7zz"), _packed),
    **dict.fromkeys(("perl", "ruby"), _scripted),
    "git": _git,
    "sort": lambda name, line: operands(name, line),
    **dict.fromkeys(("uniq", "xxd"), lambda name, line: operands(name, line)[:1]),
}  # fmt: skip
_KNOWN = frozenset((*FILES, *AT, *OPERANDS, *_SPECIAL))
