"""The programs that shell texts run, by their effect, and which of their options take a value. Data only."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEUTRAL = words(
    "cd pushd popd chdir echo printf export unset set source . alias unalias true false : test [ [[ exit return local "
    "declare typeset readonly shopt umask pwd wait shift hash ulimit fi done esac } ) break continue "
    "read mapfile readarray getopts let which basename dirname seq "
    "set-location write-output write-host write-error write-warning set-strictmode import-module out-null sl "
    "test-path get-location push-location pop-location join-path split-path resolve-path "
    "select-object where-object sort-object measure-object group-object format-table format-list format-wide "
    "out-string out-host out-default get-member get-unique compare-object convertfrom-json convertto-json "
    "convertfrom-csv convertto-csv write-debug write-progress"
)
READ = words(
    "cat bat batcat head tail less more nl tac wc diff cmp comm stat file cut sort uniq tr rev fold paste column jq yq "
    "xq xxd od hexdump strings zcat zless bzcat xzcat zstdcat gzcat realpath readlink md5 md5sum sha1sum sha256sum "
    "sha512sum shasum b2sum cksum base64 du view "
    "pr expand unexpand fmt join tsort iconv hd sum sha224sum sha384sum b3sum base32 basenc colordiff sdiff diff3 "
    "zdiff zcmp lz4cat hexyl bzless xzless zmore most"
)
CONTENT = words("get-content gc get-item gi get-itemproperty get-filehash format-hex import-csv import-clixml")
LIST = words("ls dir tree exa eza lsd get-childitem gci vdir")
GREP = words("grep egrep fgrep zgrep rg ripgrep ag ack ack-grep ugrep pcregrep findstr select-string sls")
FIND = words("find fd fdfind locate mdfind")
WRITE = words(
    "cp mv rm mkdir rmdir touch ln unlink install truncate shred rsync patch sponge mkfifo zip split csplit dos2unix "
    "unix2dos fallocate trash "
    "set-content add-content out-file new-item remove-item copy-item move-item rename-item clear-content ni ri mkd md "
    "rni cpi mi rd del erase copy move ren xcopy robocopy export-csv export-clixml expand-archive compress-archive"
)
PACK = words(  # replace a file by a packed or unpacked one
    "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd"
)
SHELLS = words("bash sh zsh dash ksh fish ash powershell pwsh cmd")
TYPES = words("cmd powershell pwsh")
"""Shells in which `type` prints files; in others it asks what a word means."""
KEYWORDS = words("if then else elif while until do ! { time coproc")
HEADERS = frozenset(("for", "select", "case", "function"))

COUNT = words("-n -c --lines --bytes")
VALUES = {
    "head": COUNT,
    "tail": COUNT | {"-s", "--pid"},
    "nl": words("-b -d -f -h -i -l -n -s -v -w"),
    "cut": words("-b -c -d -f --delimiter --fields --characters --bytes --output-delimiter"),
    "sort": words("-k -t -o -S -T --key --field-separator --output"),
    "column": words("-s -c -o"),
    "fold": frozenset(("-w",)),
    "xxd": words("-l -s -c -g"),
    "od": words("-A -j -N -t -w"),
    "base64": words("-w -b --wrap --break"),
    "shasum": words("-a --algorithm"),
    "ast-grep": words(
        "-p -r -l -k -C -A -B -j --pattern --rewrite --lang --kind --selector --strictness --globs --context --after "
        "--before --threads --color --json --config --max-results"
    ),
    "hexdump": words("-e -f -n -s"),
    "strings": words("-e -n -t"),
    "du": words("-d --max-depth --exclude -B"),
    "stat": words("-c -f --format --printf"),
    "tree": words("-L -I -P -o --filelimit"),
    "ls": words("-I -w --ignore --hide"),
    "eza": words("-I -L -s -t --ignore-glob --level --sort --time"),
    "lsd": words("-I --depth --ignore-glob --sort"),
    "diff": words("-U -C -I -x -W --exclude --label"),
    "jq": words("--indent -L -f --from-file"),
    "yq": words("-o -p -I -f --output-format --input-format --indent --from-file"),
    "bat": words("-l -r -H --language --line-range --style --theme --highlight-line --color --paging"),
    "sed": words("-e -f -l --expression --file"),
    "awk": words("-F -v -f --field-separator --assign --file"),
    "grep": words(
        "-A -B -C -e -f -m -d -D --after-context --before-context --context --regexp --file --max-count --include "
        "--exclude --exclude-dir --include-dir --color --colour --label"
    ),
    "rg": words(
        "-A -B -C -e -f -m -g -t -T -j -M -r -E -d --after-context --before-context --context --regexp --file "
        "--max-count --glob --iglob --type --type-not --threads --max-columns --replace --encoding --max-depth --sort "
        "--sortr --pre --color --colors --engine --path-separator --max-filesize --type-add --ignore-file"
    ),
    "ag": words("-A -B -C -G -m -p --ignore --ignore-dir --depth --max-count --context"),
    "ack": words("-A -B -C -m -g -G --type --ignore-dir --ignore-file --max-count"),
    "fd": words(
        "-e -t -d -E -c -j -S -x -X --extension --type --max-depth --min-depth --exclude --color "
        "--base-directory --search-path --owner --size --changed-within --changed-before --threads"
    ),
    "wc": frozenset(("--files0-from",)),
    "get-content": words(
        "-path -literalpath -totalcount -head -first -tail -last -encoding -delimiter -readcount -filter -include "
        "-exclude -stream -erroraction -ea -algorithm -name"
    ),
    "tr": frozenset[str](),
    "git-restore": words("-s --source"),
    "cp": words("-t -S --target-directory --suffix"),
    "mv": words("-t -S --target-directory --suffix"),
    "ln": words("-t -S --target-directory --suffix"),
    "install": words("-t -S -m -o -g --target-directory --suffix --mode --owner --group"),
    "mkdir": words("-m --mode"),
    "patch": words(
        "-p -i -d -D -F -V -z -B -Y -r -o --strip --input --directory --ifdef --fuzz --suffix --reject-file --output"
    ),
    "rsync": words(
        "-e -f -T -M -B -@ --rsh --filter --exclude --include --exclude-from --include-from --files-from --temp-dir "
        "--compare-dest --copy-dest --link-dest --backup-dir --suffix --max-size --min-size --bwlimit --port --timeout "
        "--password-file --log-file --chmod --chown --info --debug --out-format"
    ),
    "touch": words("-d -t -r -A --date --reference --time"),
    "truncate": words("-s -r --size --reference"),
    "shred": words("-n -s --iterations --size --random-source"),
}
"""Options that take the next word as their value, per program."""

PAIRS = {"jq": words("--arg --argjson --slurpfile --rawfile")}
PAIRS["yq"] = PAIRS["jq"]
"""Options that take the next two words: a name and its value."""

FAMILY = {"egrep": "grep", "fgrep": "grep", "zgrep": "grep", "ugrep": "grep", "pcregrep": "grep", "ripgrep": "rg",
          "ack-grep": "ack", "fdfind": "fd", "batcat": "bat", "gawk": "awk", "mawk": "awk", "nawk": "awk",
          "gsed": "sed", "exa": "eza", "sg": "ast-grep", "xq": "jq",
          "sls": "select-string", **dict.fromkeys(CONTENT, "get-content")}  # fmt: skip
NO_FILE = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "$null", "nul", "-", ""))
NO_FILES = ("/dev/fd/", "/dev/tcp/", "/dev/udp/", "/proc/self/fd/", "&")  # beginnings of targets that are not files
FIND_NAMES = words("-name -iname -path -ipath -wholename -iwholename -regex -iregex")
