"""Makes shell texts in which one program is run, or only named, in every way that the templates below know.

The templates are written from the manual pages, apart from the product's tables, so that a row that is wrong shows.
"""

from collections.abc import Iterator, Sequence
from random import Random
from shlex import quote
from typing import NamedTuple


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n") if line.strip()]


WORDS = lines("""
    sudo
    sudo -u bob
    sudo -nEu bob --
    sudo -n -E -H A=1
    sudo --user=bob --group bob
    sudo -u bob -- env A=1
    doas -u bob
    env
    env A=1 B=2
    env -u A -C . A=1
    env --unset=A --chdir=. --
    nice
    nice -n 5
    nice -n5 --
    nice --adjustment=5
    nohup
    stdbuf -oL -e 0
    stdbuf --output=L
    timeout 5
    timeout -k 5 -s KILL 5
    timeout --foreground --kill-after=5 5s
    chroot .
    chroot --userspec=bob .
    xargs
    xargs -n 1 -P 2
    xargs -0 --max-args=3
    flock lock
    flock -w 5 lock
    flock --timeout 5 -x lock
    flock -nE 3 lock
    setsid
    setsid -w
    ionice -c 3
    ionice -c2 -n7
    chrt -f 10
    chrt --batch 0
    taskset 1
    taskset -c 0
    choom -n 5 --
    prlimit --nofile=64
    setarch x86_64 -R
    setarch -R
    linux64
    setpriv --reuid=1000 --clear-groups
    setpriv --regid 1000 --no-new-privs
    unshare -r -m
    unshare --user --setuid 0 --
    nsenter -t 1 -m -u --
    runuser -u bob --
    runuser --user bob
    pkexec --user bob
    gosu bob
    su-exec bob:bob
    setuidgid bob
    envdir envs
    chpst -u bob -e envs
    systemd-run --user --scope
    systemd-run -p A=1 --unit x
    systemd-inhibit --what=idle --who me
    systemd-cat -t x
    dbus-run-session --
    ssh-agent
    xvfb-run -a -s '-screen 0'
    strace
    strace -f -o out.txt
    strace -fe trace=file
    strace -ff -s 200 -e open
    ltrace -c
    ltrace -o out.txt -f
    valgrind --leak-check=full
    gdb --args
    gdb -q -ex run --args
    gdb -batch -ex 'info files' -ex bt --args
    lldb --
    perf stat
    perf stat -e cycles -r 3
    perf record -g -o out.data
    perf trace -e open
    heaptrack
    rr record
    numactl -N 0 --membind=0
    cpulimit -l 50 --
    cgexec -g cpu:x
    firejail --noprofile
    bwrap --ro-bind / / --dev /dev --unshare-all
    bwrap --bind . . --chdir . --
    fakeroot
    fakeroot -s state --
    eatmydata
    nocache
    faketime '1 day ago'
    torsocks
    proxychains4 -f x.conf
    chronic
    ifne
    unbuffer
    caffeinate -i -t 5
    entr -r
    watchexec -e py --
    run-one
    tini -s --
    dumb-init
    screen -dmS name
    screen -d -m
    busybox
    toybox
    rlwrap
    direnv exec .
    dotenv --
    dotenv run
    dotenv -f .env.x run --
    dotenv -e .env.x --
    env-cmd -f .env.x
    cross-env A=1 B=2
    envchain ns
    aws-vault exec prod --
    aws-vault exec -d 1h prod --
    chamber exec ns --
    op run --env-file=.env.x --
    doppler run --
    doppler run -p x -c y --
    infisical run --env=dev --
    nix develop -c
    nix shell x --command
    guix shell x --
    mise exec node@20 --
    mise x --
    asdf exec
    rbenv exec
    pyenv exec
    nvm exec 20
    fnm exec --using 20
    volta run --node 20
    rustup run nightly
    conda run -n envs
    conda run --no-capture-output -p path
    micromamba run -n envs
    poetry run
    poetry -C dir run
    pipenv run
    pdm run
    rye run
    hatch run
    hatch -e test run
    bundle exec
    bundle --gemfile x exec
    composer exec
    uv run
    uv run --with x --python 3.12
    uv --directory dir run --no-project
    uvx
    uvx --from x
    uv tool run
    pipx run --spec x
    npx
    npx -y -p x
    npx --yes --package=x --
    bunx
    bun x
    bun --cwd dir x
    pnpm exec
    pnpm -C dir exec
    pnpm --filter x dlx
    yarn exec
    yarn --cwd dir run
    npm exec --
    npm --prefix dir exec --
    npm x -y
    tox exec --
    python3 -m
    python -W ignore -m
    git bisect run
    git -C dir bisect run
    docker exec box
    docker exec -it -u bob -w dir -e A=1 box
    docker run --rm -it image
    docker run --rm -v a:b --name x -e A image
    docker --context x run image
    docker compose exec web
    docker compose -f x.yml run --rm web
    docker-compose exec -T web
    podman run --rm image
    podman exec -it box
    kubectl exec pod --
    kubectl -n ns exec -it pod -c x --
    kubectl --context x exec pod -- env
    lxc exec box --
    distrobox enter box --
    toolbox run -c box
    wsl --
    wsl -d Ubuntu -e
    heroku run -a app
    sshpass -p x ssh host
    ld.so
    aa-exec -p prof --
""")
"""What precedes a program with its arguments."""

BUILTINS = lines("""
    command
    command --
    builtin command
    exec
    exec -a name
    time
    time -p
    ! command
    A=1 B="c d"
    > out.txt
    2>/dev/null
""")
"""The same of bash's own, which only bash can run."""

TEXTS = lines("""
    bash -c {}
    bash --noprofile -lc {}
    bash -eo pipefail -c {}
    bash --norc -c {} name a b
    sh -c {}
    sh -ec {}
    /bin/bash -c {}
    dash -c {}
    su -c {}
    su bob -c {}
    su - bob -c {}
    su -l bob --command={}
    su -s /bin/sh -c {} bob
    runuser bob -c {}
    runuser -l bob -c {}
    flock lock -c {}
    flock -w 5 lock -c {}
    script -c {} out.txt
    script -qec {} /dev/null
    script -q --command {} out.txt
    watch {}
    watch -n 1 -d {}
    ssh host {}
    ssh -p 22 -o A=b -i key me@host {}
    ssh -tt host -- {}
    parallel {} '#' ::: a b
    parallel -j 4 --eta {} '#' ::: a
    parallel ::: {}
    sem -j 2 {}
    hyperfine -w 1 {}
    hyperfine --prepare {} true
    pee {} cat
    entr -s {}
    nodemon -e py --exec {}
    concurrently -n a,b {} true
    tmux new -d {}
    tmux new-session -d -s name {}
    tmux -L x split-window -h {}
    tmux send-keys -t x {} Enter
    nix-shell -p x --run {}
    nix-shell --command {}
    doppler run --command {}
    sops exec-env file {}
    devbox run {}
    mise x -c {}
    npx -c {}
    npm exec -c {}
    cargo watch -s {}
    git submodule foreach {}
    git submodule --quiet foreach --recursive {}
    git -C dir submodule foreach {}
    git rebase -x {} main
    git rebase --exec={} HEAD~2
    git -c a=b rebase -i --exec {} main
    git filter-branch --tree-filter {} HEAD
    git filter-branch -f --index-filter {} --prune-empty
    git difftool -x {}
    vagrant ssh -c {}
    adb shell {}
    gcloud compute ssh box --zone z --command={}
    docker exec box sh -c {}
    docker run --rm image bash -c {}
    kubectl exec pod -- sh -c {}
    cross-env-shell A=1 {}
""")
"""Programs that run a text."""

BUILTIN_TEXTS = lines("""
    eval {}
    eval -- {}
    trap {} EXIT
    trap -- {} 0
""")

FED = (
    "bash <<'END'\n{}\nEND\n", "sh -s <<END\n{}\nEND\n", "bash -s a b <<-'END'\n{}\nEND\n",
    "cat <<'END' | bash\n{}\nEND\n", "at now <<'END'\n{}\nEND\n", "batch <<END\n{}\nEND\n",
    "ssh host <<'END'\n{}\nEND\n", "ssh -T host 'bash -s' <<'END'\n{}\nEND\n",
    "sudo -u bob bash -s <<'END'\n{}\nEND\n", "docker exec -i box sh <<'END'\n{}\nEND\n",
    ". /dev/stdin <<'END'\n{}\nEND\n",
)  # fmt: skip
"""Programs that get a text with a here-document."""

PIPED = lines("""
    echo {} | bash
    echo {} | sudo -n bash -s
    printf '%s\\n' {} | sh
    printf %s {} | cat | sh
    echo {} | tee /dev/null | bash
    bash <<< {}
    sh -s -- a <<< {}
    echo {} | at now
    batch <<< {}
    echo {} | ssh host
    source /dev/stdin <<< {}
""")
"""Programs that get a text on standard input."""

AROUND = (
    "({})", "{{ {}; }}", "( cd dir; {} )", "if true; then {}; fi", "if {}; then true; fi", "true; {}", "{}; true",
    "true && {}", "false || {}", "{} || true", "true | {}", "{} | cat", "{{ {} & }}", "{{ {} & wait; }}",
    "! {{ {}; }}", "time {}",
    "echo $({})", 'echo "$({})"', "x=$({})", "x=`{}`", "{} > out.txt", "{} 2>&1 >> out.txt",
    "for i in 1; do {}; done", "while {}; do break; done",
    "until {}; do break; done", "case x in x) {} ;; esac", "case x in\n  (a|x)\n    {}\n    ;;\nesac",
    "{{ f() {{ {}; }}; f; }}",
    "{{\nf() {{\n  {}\n}}\nf\n}}", "{{ function f {{ {}; }}; f; }}", "cat <<END\n$({})\nEND\n", "cat <({})",
    "true >({})",
    "[[ -n $({}) ]]", "if [[ a < b ]]; then {}; fi", "list=( $({}) )", "echo ${{nothing:-$({})}}", "# it's\n{}",
    "true \\\n  && {}", "cd dir && {}", "cd dir && cd .. && {}", "echo $(( 1 + $({} | wc -l) ))",
    "export A=1; {}", "set -e; {}", "echo 'a; b' \"c | d\" && {}", "(true; ({}))", "echo \"a $({}) b\" 'c'",
    "local_name=1; {}", "while read -r x; do {}; done <<< a", "select x in a; do {}; break; done <<< 1",
)  # fmt: skip
"""Shell syntax around a list of commands."""

ONCE = ("coproc {}", "coproc {{ {}; }}", "coproc NAME {{ {}; }}")
"""Syntax that ends a shell before what it runs, where it is not the outermost."""

RUN = (
    "zap x", "zap", "zap 'a b' \"c d\"", '"zap" x', "'zap' -rf x", "\\zap x", "z'a'p x", "za\"p\" x", "$'zap' $'a\\tb'",
    "$'\\x7aap' x", "zap a\\ b", "zap -- -x", "zap --a=b 'c;d'",  "zap {a,b}", "zap x#y", "zap ''",
    "bin/zap x", "./bin/zap x", "{BIN}/zap x", "env -S 'zap x'", "env -S'A=1 zap x' y",
    "find . -maxdepth 0 -exec zap x \\;",
    "find . -maxdepth 0 -name . -execdir zap x \\; -exec zap y \\;",
    "echo a | xargs -I% -d '\\n' zap x", "find . -maxdepth 0 -exec true \\; -exec zap x \\;",
    "{zap,x}", "z\\ap x",
)  # fmt: skip
"""Calls of the program."""

LISTS = (
    "$NOTHING zap x", "true | for i in zap; do $i x; done",
    "true; zap \"it's\"",
    "x=zap; $x a", 'x=zap; "$x" a', "x='zap a'; $x b", "for i in zap; do $i x; done", "x=a y=b; zap $x \"${y}c\"",
    "export x=zap; $x y", "declare x=zap; ${x} y", "sh -c '\"$@\"' _ zap 'a b'", "bash -c '$0 x' zap",
    "bash -c 'zap \"$1\" $2' _ 'a b' c", "zap${IFS}x", "x=zap; bash -c \"$x y\"", "x=zap; eval $x y",
    "x=zap; eval '$x y'", "x=p; za$x y", "x=$(true); x=zap; $x y", "x=zap\nif true; then $x y; fi", "x=zap; ($x a)",
    "x=sudo; $x zap y", "find . -maxdepth 0 -exec sh -c '\"$@\" x' _ zap \\;", "x=zap; { $x y; } > out.txt",
)  # fmt: skip
"""The same, in lists of commands with variables."""

NAMED = (
    "echo zap x", "echo 'zap x'", 'echo "zap; zap x"', "printf 'zap x\\n'", "true zap x", "true -- zap x",
    "true --zap x",
    "true 'x; zap y'", "true \"x && zap y\"", "true x\\;zap y", "true x\\|zap", "true '$(zap x)'",
    "true \"\\$(zap x)\"",
    "true '`zap x`'", "true \\`zap\\`", "true $'zap\\nzap x'", "true # zap x", "true x#zap", "zap=1 true", "zap=1",
    "unset zap", "declare zap=1", "export zap=1", "x=zap; true", "x='zap x' true", "x=(zap x)",
    "declare -A m=([zap]=zap)",
    "[[ zap == x ]]", "[[ zap < x || zap > y ]]", "[ zap = x ]", "test zap = x", "(( zap + 1 ))", "echo $(( zap * 2 ))",
    "for zap in x; do true; done", "for i in zap x; do true; done", "case zap in zap) true ;; esac",
    "case x in zap|x) true ;; esac", "read zap <<< x", "true <<< 'zap x'", "cat <<'END'\nzap x\n$(zap x)\nEND\n",
    "cat <<END\nzap x\n\\$(zap x)\n\\`zap\\`\nEND\n", "cat <<-END\n\tzap x\n\tEND\n", "command -v zap",
    "command -V zap",
    "type zap", "hash zap", "echo ${zap:-x}", "echo ${x:-zap}", "echo \"${x/zap/y}\"", "alias zap=x",
    "git commit -m 'zap x'", "git -c alias.x=zap status", "npm run zap-it", "pip install zap", "python3 zap.py",
    "python3 -c 'zap()'",
    "sudo -l", "env -u zap true", "timeout -s KILL 5 true zap", "find . -name zap",
    "find . -maxdepth 0 -exec true zap \\;", "xargs -I zap true zap", "nice -n 5 true zap", "stdbuf -oL true zap",
    "script -q -c true zap", "trap - EXIT zap", "trap '' INT", "zap_it x || true", "./zap_x || true",
    "zapper x || true",
    "/tmp/zap/none x || true", "true >/dev/null 2>&1 zap", "grep zap dir/file", "cat dir/file | grep -c zap",
    "echo zap | cat", "echo 'zap x' | tr a b", "echo zap | xargs true", "let zap=1", "getopts zap x", "true {zap,x}",
    "while read -r zap; do true; done <<< a", "cd zap 2>/dev/null || true", "make -n zap",
    "systemctl status zap", "apt-get install -y zap",
    "crontab -u zap -l", "nodemon zap.js", "vim zap", "rm -rf zap.txt",
)  # fmt: skip
"""Texts that name the program and do not run it."""


PROGRAMS = frozenset(
    name for name in (text.split()[0] for text in (*WORDS, *TEXTS, "at", "batch")) if "/" not in name and name != "."
)
"""Programs that run others."""

LEAVES = ("zap", "true", "nl", "rev", "od", "pip", "make", "systemctl", "apt-get", "crontab", "vim")
"""Programs that only note how they are called."""


READING = (
    "nl .env", "nl ./.env", "nl dir/../.env", "nl -ba -- .env", "rev other .env", "od -c -N 16 .env", "nl '.env'",
    "nl \".e\"nv", "nl .e\\nv", "nl {HOME}/.env", "nl ~/.env", "nl $HOME/.env", 'nl "${HOME}"/dir/../.env',
    "nl .{env,none}", "nl .en?", "rev .e*", "env -C dir nl ../.env", "env --chdir=dir rev ../.env",
    "find . -maxdepth 1 -name .env -exec nl {} \\;", "xargs -a .env nl .env", "cd dir; nl ../.env", "cd; nl .env",
    "cd dir; cd ..; nl .env", "f=.env; nl $f", "for f in other .env; do nl $f; done",
    "sh -c 'nl \"$1\"' _ .env", "d=..; cd dir && nl $d/.env", "echo .env | xargs rev", "nl <.env", "rev < .env other",
    "while read -r l; do rev; done < .env", "nl $(echo other) .env",
)  # fmt: skip
"""Texts that read a file of the folder."""

UNREADING = (
    "nl other", "nl .env.x", "nl dir/.env", "cd dir && nl .env", "nl ../.env", "nl /tmp/none/.env", "true .env",
    "true nl .env", "echo .env", "echo 'nl .env'", "nl other # .env", "true > .env.new",
    "env -C dir nl .env", "(cd dir && nl .env)", "f=.env; nl other", "rev <<< .env", "nl <<'END'\n.env\nEND\n",
    "nl dir/.e*", "nl x.env", "find . -maxdepth 1 -name .env", "cd dir; nl .e?v", "[ -f .env ]", "test -s .env || true",
)  # fmt: skip
"""Texts that do not, although its name is in them."""


class Made(NamedTuple):
    """A text. `simple`: it is one command; `program`: that of a program, not of the shell."""

    text: str
    simple: bool = False
    program: bool = False


def marked(text: str) -> str:
    """A text in such a form that the stub of a program knows that it is the one to run."""
    return quote(f": @; {text}")


def single(made: Made, template: str) -> Made:
    """A template of WORDS, BUILTINS, TEXTS and their like around a text."""
    if "{}" not in template:
        return Made(f"{template} {made.text}", True, template in WORDS)
    return Made(template.replace("{}", marked(made.text)), True, template in TEXTS)


def every(calls: Sequence[str]) -> Iterator[str]:
    """Each template once."""
    yield from calls
    plain = Made(calls[0], True, True)
    for template in (*WORDS, *BUILTINS, *TEXTS, *BUILTIN_TEXTS, *PIPED):
        yield single(plain, template).text
    for template in FED:
        yield template.replace("{}", calls[0])
    for template in (*AROUND, *ONCE):
        yield template.format(calls[0])


ELSEWHERE = frozenset(
    ("ssh", "autossh", "sshpass", "chroot", "nsenter", "bwrap", "docker", "docker-compose", "podman", "kubectl", "lxc",
     "distrobox", "toolbox", "wsl", "heroku", "adb", "vagrant", "gcloud")
)  # fmt: skip
"""Programs that run others where the files are not those of the session."""


def random_text(random: Random, calls: Sequence[str], here: bool = False) -> str:
    """A call in up to four layers of templates; `here`: none that leads to another machine."""
    call = random.choice(calls)
    lists = (*NAMED, *LISTS, *READING, *UNREADING)
    plain = call.startswith("true ") or (call.startswith("nl ") and "<" not in call)
    simple = (call not in lists and " && " not in call) or (plain and "#" not in call)
    made = Made(call, simple, simple and call[0] not in "{\\$")
    for _ in range(random.randint(1, 4)):
        group = random.randrange(7)
        templates = (WORDS, BUILTINS, (*TEXTS, *BUILTIN_TEXTS), PIPED, FED, AROUND, AROUND)[group]
        template = random.choice(templates)
        if here and not ELSEWHERE.isdisjoint(template.split()):
            continue
        if group < 2:
            made = single(made, template) if made.program else made
        elif group < 4:
            made = single(made, template)
        elif group == 4:
            if "END" not in made.text and ("<<END" not in template or not set("$`") & set(made.text)):
                made = Made(template.replace("{}", made.text))
        else:
            text = made.text if "END" not in made.text else f"{{\n{made.text}\n}}"
            if ("`" not in template or not set("`'\\") & set(text)) and not ("END" in template and "END" in text):
                made = Made(template.format(text))
    return made.text
