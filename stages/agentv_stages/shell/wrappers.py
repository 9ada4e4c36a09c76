"""Programs that run what their arguments name: program (and sub-command) -> how they name it. Data, with a source each.

`what_it_runs` reads a command line by its row.
"""

from typing import Any, NamedTuple

from agentv_stages.shell.options import is_assignment, option_at
from agentv_stages.shell.subcommands import without_options
from agentv_stages.shell.tables import words


class Wrapper(NamedTuple):
    """How a program names the program that it runs.

    `values` are its options that take the next word, `texts` those of them whose value is a shell text (or a program),
    `splits` those whose value is split into the words of the program (`env -S`). `operands` words of its own precede
    the program; `pairs` are options that take two words. `after`: the program follows one of these words, which with
    `early` are options that come before any operand. `only_with`: operands are a program only next to one of these
    options. `form`: the operands are a program with its arguments (`words`), are joined to a shell text (`text`), are a
    text if it is one word (`one`), are a text each (`each`), the first of them is a text (`first`), or they are nothing
    that runs (`none`). `until` ends the program (`parallel rm ::: a b`). `assigns`:
    variables may precede the program. `stdin`: without a program it reads a text from standard input. `elsewhere`: it
    runs on another machine, or sees other files. `more`: the program gets further arguments, in the place
    that one of `marks` names (`xargs -I%`), or behind its own. `folder` are
    options for the folder in which the program runs. `versions`: `name@1.2` is
    the program `name`. `idle`: without a program it runs nothing.
    """

    source: str
    values: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    operands: int = 0
    after: frozenset[str] = frozenset()
    splits: frozenset[str] = frozenset()
    only_with: frozenset[str] = frozenset()
    form: str = "words"
    until: str = ""
    pairs: frozenset[str] = frozenset()
    early: bool = False
    assigns: bool = False
    stdin: bool = False
    elsewhere: bool = False
    more: bool = False
    marks: frozenset[str] = frozenset()
    folder: frozenset[str] = frozenset()
    versions: bool = False
    idle: bool = False


def _row(source: str, values: str = "", texts: str = "", operands: int = 0, after: str = "", **more: Any) -> Wrapper:
    return Wrapper(source, words(values) | words(texts), words(texts), operands, words(after), **more)


_SU = words("-u --user")
_CONTAINER = (
    "-a -c -e -h -l -m -p -u -v -w --add-host --annotation --attach --blkio-weight --cap-add --cap-drop "
    "--cgroup-parent --cgroupns --cidfile --cpus --cpu-shares --cpuset-cpus --device --dns --domainname --env "
    "--env-file --expose --gpus --group-add --health-cmd --hostname --ip --ipc --isolation --label --label-file --link "
    "--log-driver --log-opt --mac-address --memory --memory-swap --mount --name --network --net "
    "--network-alias --pid --pids-limit "
    "--platform --publish --pull --restart --runtime --secret --security-opt --shm-size --stop-signal --stop-timeout "
    "--storage-opt --sysctl --tmpfs --ulimit --user --userns --uts --volume --volumes-from --workdir --index "
    "--detach-keys --pod --arch --os --authfile --tz --umask"
)
_RUN_IN = _row("docker 27, podman 5, nerdctl: run --help", _CONTAINER, "--entrypoint", 1, elsewhere=True)
_EXEC_IN = _row("docker 27, podman 5, nerdctl: exec --help", _CONTAINER, "", 1, elsewhere=True)
_EXEC_IN_POD = _row(
    "kubectl 1.31 exec --help",
    "-c -f -n --container --filename --namespace --context --pod-running-timeout --kubeconfig --cluster --user",
    "",
    0,
    "--",
    elsewhere=True,
)
_SHELL_OF_HOST = "-b -c -B -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w"
_PYTHON = "-p --python -w --with --with-requirements --with-editable --from --extra --group --package --index-url " \
    "--index --default-index --env-file --directory --project --no-group --only-group --refresh-package -C"  # fmt: skip
_NODE = "-p -c --package --prefix --workspace --dir --cwd --filter"
_NIX = "-p -I -A --option --arg --argstr --packages --attr -f --file --override-input --inputs-from"
_VERSIONED = _row("rbenv 1.3, pyenv 2.4, nodenv, goenv, jenv, plenv: exec; asdf 0.14 exec")

WRAPPERS: dict[str, Wrapper] = {
    # coreutils 9.1, findutils 4.9, bash 5.2: manual pages of Debian 12
    "env": _row("env(1), coreutils", "-u -C -P --unset --chdir", assigns=True, idle=True,
                splits=words("-S --split-string"), folder=words("-C --chdir")),
    "nice": _row("nice(1), coreutils", "-n --adjustment"),
    "nohup": _row("nohup(1), coreutils"),
    "stdbuf": _row("stdbuf(1), coreutils", "-i -o -e --input --output --error"),
    "timeout": _row("timeout(1), coreutils", "-k -s --kill-after --signal", "", 1),
    "gtimeout": _row("timeout(1), Homebrew's coreutils", "-k -s --kill-after --signal", "", 1),
    "chroot": _row("chroot(8), coreutils", "--userspec --groups", "", 1, elsewhere=True),
    "runcon": _row("runcon(1), coreutils", "-u -r -t -l --user --role --type --range", "", 1),
    "xargs": _row("xargs(1), findutils; -J and -R of BSD",
                  "-a -d -E -I -L -n -P -s -J -R -S --arg-file --delimiter --max-args --max-lines --max-procs "
                  "--max-chars --process-slot-var", more=True, marks=words("-I -J -i --replace")),
    "command": _row("bash(1), builtins", idle=True), "builtin": _row("bash(1), builtins", idle=True),
    "exec": _row("bash(1), builtins", "-a", idle=True),
    "eval": _row("bash(1), builtins", form="text", idle=True),
    "trap": _row("bash(1), builtins", form="first", idle=True),
    "time": _row("time(1), GNU time 1.9", "-f -o --format --output"),
    "gtime": _row("time(1), Homebrew's gnu-time", "-f -o --format --output"),
    # util-linux 2.38: manual pages of Debian 12
    "flock": _row("flock(1), util-linux", "-w -E --wait --timeout --conflict-exit-code", "-c --command", 1),
    "setsid": _row("setsid(1), util-linux"),
    "ionice": _row("ionice(1), util-linux", "-c -n -p -P -u --class --classdata --pid --pgid --uid"),
    "chrt": _row("chrt(1), util-linux", "-T -P -D -p --sched-runtime --sched-period --sched-deadline --pid", "", 1),
    "taskset": _row("taskset(1), util-linux", "-p --pid", "", 1),
    "choom": _row("choom(1), util-linux", "-n -p --adjust --pid"),
    "prlimit": _row("prlimit(1), util-linux", "-p -o --pid --output"),
    **dict.fromkeys(("setarch", "linux32", "linux64", "i386", "i586", "i686", "x86_64", "aarch64", "uname26"),
                    _row("setarch(8), util-linux: the architecture may be left out, or be the program's name")),
    "setpriv": _row("setpriv(1), util-linux",
                    "--reuid --regid --groups --ruid --rgid --euid --egid --inh-caps --ambient-caps --bounding-set "
                    "--securebits --pdeathsig --selinux-label --apparmor-profile"),
    "unshare": _row("unshare(1), util-linux",
                    "-R -w -S -G -l --root --wd --setuid --setgid --load-interp --propagation --map-user --map-group "
                    "--map-users --map-groups --setgroups --monotonic --boottime"),
    "nsenter": _row("nsenter(1), util-linux", "-t -S -G --target --setuid --setgid", elsewhere=True),
    "script": _row("script(1), util-linux; FILE COMMAND of BSD",
                   "-T -I -O -B -E -m -o -t# --log-in --log-out --log-io --log-timing --echo --logging-format "
                   "--output-limit", "-c --command", 1),
    "scriptlive": _row("scriptlive(1), util-linux", "-d -m -t -T --divisor --maxdelay", "-c --command", 2),
    "su": _row("su(1), util-linux", "-g -G -s -w -T --group --supp-group --shell --whitelist-environment",
               "-c --command --session-command", form="none"),
    "runuser": _row("runuser(1), util-linux", "-g -G -s -u -w --user --group --supp-group --shell",
                    "-c --command --session-command", only_with=_SU),
    # privileges and sessions
    "sudo": _row("sudo(8) 1.9.13",
                 "-a -c -C -D -g -h -p -R -r -T -t -U -u --auth-type --login-class --close-from --chdir --group --host "
                 "--prompt --chroot --role --command-timeout --type --other-user --user",
        assigns=True, folder=words("-D --chdir")),
    "doas": _row("doas(1) of opendoas 6.8", "-u -C", assigns=True),
    "pkexec": _row("pkexec(1), polkit 122", "--user"),
    "gosu": _row("gosu 1.14 --help", "", "", 1), "su-exec": _row("su-exec 0.2 README", "", "", 1),
    "setuidgid": _row("setuidgid(8), daemontools 0.76", "", "", 1),
    "envdir": _row("envdir(8), daemontools 0.76", "", "", 1), "softlimit": _row("softlimit(8), daemontools 0.76",
        "-a -c -d -f -l -m -o -p -r -s -t"), "setlock": _row("setlock(8), daemontools 0.76", "", "", 1),
    "chpst": _row("chpst(8), runit 2.1", "-u -U -b -e -/ -n -l -L -m -d -o -p -f -c -r -t"),
    "start-stop-daemon": _row("start-stop-daemon(8), dpkg 1.21",
                              "-p -u -n -s -c -g -r -d -N -P -I -k -R --pidfile --user --name --signal --chuid --group "
                              "--chroot --chdir --nicelevel --procsched --iosched --umask --retry --output",
                              "-x -a --exec --startas", form="none"),
    "systemd-run": _row("systemd-run(1), systemd 252",
                        "-p -t -u -E -H -M --property --unit --slice --description --uid --gid --nice --setenv "
                        "--working-directory --on-active --on-boot --on-startup --on-unit-active --on-unit-inactive "
                        "--on-calendar --timer-property --path-property --socket-property --service-type --host "
                        "--machine --background", folder=words("--working-directory")),
    "run0": _row("run0(1), systemd 256", "-u -g -D --unit --property --description --slice --user --group --chdir "
                 "--setenv --background --machine --nice"),
    "systemd-inhibit": _row("systemd-inhibit(1), systemd 252", "--what --who --why --mode"),
    "systemd-cat": _row("systemd-cat(1), systemd 252", "-t -p --identifier --priority --stderr-priority"),
    "systemd-nspawn": _row("systemd-nspawn(1), systemd 252",
                           "-D -i -u -M -p -E --directory --image --user --machine --bind --bind-ro --setenv --chdir",
                           elsewhere=True),
    "dbus-run-session": _row("dbus-run-session(1) 1.14", "--config-file --dbus-daemon"),
    "ssh-agent": _row("ssh-agent(1), OpenSSH 9.2", "-a -E -O -P -t"),
    "xvfb-run": _row("xvfb-run(1), Debian 12", "-e -f -l -n -p -s -w --error-file --auth-file --server-num "
                     "--xauth-protocol --server-args --wait"),
    # tracers, debuggers, limits
    "strace": _row("strace(1) 6.1", "-a -b -e -E -I -o -O -p -P -s -S -u -U -X --attach --env --output --user "
                   "--string-limit --trace --signal --status --abbrev --inject"),
    "ltrace": _row("ltrace(1) 0.7", "-a -A -D -e -F -l -n -o -p -s -u -w -x --align --config --library --output "
                   "--where --indent"),
    "valgrind": _row("valgrind(1) 3.19"),
    "gdb": _row("gdb(1) 13", "-ex -x -p -d -s -e -c -iex -ix -eval-command --ex --command --pid --directory "
                "--eval-command", "", 0, "--args -args"),
    "lldb": _row("lldb(1) 14", "", "", 0, "--"),
    "perf stat": _row("perf-stat(1) 6.1", "-e -p -t -C -r -o -x -I -M -G --event --pid --tid --cpu --repeat --output "
                      "--field-separator --interval-print"),
    "perf record": _row("perf-record(1) 6.1", "-e -p -t -u -c -o -F -m -C -G --event --pid --tid --count --output "
                        "--freq --call-graph --cpu --delay"),
    "perf trace": _row("perf-trace(1) 6.1", "-e -p -t -u -o -m -G --event --pid --tid --output --uid"),
    "heaptrack": _row("heaptrack 1.4 --help", "-o -p --output --pid"),
    "rr": _row("rr 5.6 record", "", "", 0, "record"), "uftrace": _row("uftrace 0.13 record", "", "", 0, "record live"),
    "catchsegv": _row("catchsegv(1), glibc 2.31"), "numactl": _row("numactl(8) 2.0.16",
        "-i -p -N -C -m -P --interleave --preferred --cpunodebind --physcpubind --membind"),
    "cpulimit": _row("cpulimit(1) 2.6", "-l -e -p -P --limit --exe --pid --path"),
    "cgexec": _row("cgexec(1), cgroup-tools 2.0", "-g"), "prime-run": _row("nvidia-prime"),
    "firejail": _row("firejail(1) 0.9.72"), "proot": _row("proot(1) 5.1", "-r -b -w -q -k -R -S", elsewhere=True),
    "bwrap": _row("bwrap(1) 0.8",
                  "--chdir --uid --gid --hostname --proc --dev --tmpfs --mqueue --dir --unsetenv --lock-file --seccomp "
                  "--remount-ro --sync-fd --info-fd --args --exec-label --perms --size",
                  pairs=words("--bind --bind-try --ro-bind --ro-bind-try --dev-bind --dev-bind-try --symlink --setenv "
                              "--file --bind-data --ro-bind-data --chmod"), elsewhere=True),
    "fakeroot": _row("fakeroot(1) 1.31", "-l -s -i -b --lib --faked"), "fakechroot": _row("fakechroot(1) 2.20"),
    "eatmydata": _row("eatmydata(1) 130"), "nocache": _row("nocache(1) 1.1", "-n"),
    "faketime": _row("faketime(1) 0.9", "", "", 1), "trickle": _row("trickle(1) 1.07", "-d -u -w -t -l -n"),
    **dict.fromkeys(("torsocks", "torify", "proxychains", "proxychains4", "tsocks"),
                    _row("torsocks(1) 2.4, proxychains(1) 4.16", "-f -u -p -a --user --pass")),
    # moreutils 0.67, expect, and what runs again or later
    "chronic": _row("chronic(1), moreutils"), "ifne": _row("ifne(1), moreutils"),
    "pee": _row("pee(1), moreutils", form="each"), "mispipe": _row("mispipe(1), moreutils", form="each"),
    "lckdo": _row("lckdo(1), moreutils", "-W", "", 1),
    "unbuffer": _row("unbuffer(1), expect 5.45"), "caffeinate": _row("caffeinate(8), macOS", "-t -w"),
    "watch": _row("watch(1), procps 4.0", "-n -q --interval --equexit", form="text"),
    "parallel": _row("parallel(1) 20221122; moreutils' parallel",
                     "-j -a -C -E -I -L -n -N -s -S -d -m# --jobs --arg-file --colsep --max-args --max-lines --joblog "
                     "--results --sshlogin --sshloginfile --delay --timeout --retries --load --memfree --workdir "
                     "--tmpdir --tagstring --nice --shuf# --halt --block --recstart --recend --delimiter "
                     "--max-procs --arg-sep",
                     form="text", until=":::", more=True),
    "entr": _row("entr(1) 5.2", "", "-s"), "watchexec": _row("watchexec 2.2 --help",
        "-e -f -i -w -d -s -E --exts --filter --ignore --watch --debounce --signal --shell --env --workdir"),
    "nodemon": _row("nodemon 3.1 --help", "-e -w -i -d --ext --watch --ignore --delay --signal", "-x --exec",
                    form="none"),
    "concurrently": _row("concurrently 9.1 --help", "-n -c -p -m -l --names --prefix-colors --prefix --max-processes "
                         "--restart-tries", form="each"),
    "at": _row("at(1) 3.2", "-f -q -t", form="none", stdin=True),
    "batch": _row("batch(1), at 3.2", "-f -q", form="none", stdin=True),
    "crontab": _row("crontab(1), cron 3.0", "-u", form="none", stdin=True),
    **dict.fromkeys(("ld.so", "ld-linux-x86-64.so.2", "ld-linux.so.2", "ld-linux-aarch64.so.1"),
                    _row("ld.so(8), glibc 2.36", "--library-path --preload --audit --argv0 --inhibit-rpath")),
    "sem": _row("sem(1), parallel 20221122", "-j --id --semaphorename --semaphoretimeout --jobs", form="text"),
    "hyperfine": _row("hyperfine 1.19 --help", "-w -m -M -r -s -p -c -P -D -L -S -n -u --warmup --runs --min-runs "
                      "--max-runs --export-json --export-markdown --export-csv --shell --style --command-name",
                      "--prepare --setup --cleanup --conclude", form="each"),
    "aa-exec": _row("aa-exec(1), apparmor 3.0", "-p -n --profile --namespace"), "rlwrap": _row("rlwrap(1) 0.46"),
    "run-one": _row("run-one(1) 1.17"), "tini": _row("tini 0.19 --help", "-p -e"),
    "dumb-init": _row("dumb-init 1.2 --help", "-r --rewrite"),
    **dict.fromkeys(("tmux new-session", "tmux new", "tmux new-window", "tmux neww", "tmux split-window",
                     "tmux splitw", "tmux respawn-pane", "tmux run-shell", "tmux run", "tmux popup"),
                    _row("tmux(1) 3.3", "-c -e -f -F -l -n -s -t -x -y -d# -E -T", form="one")),
    **dict.fromkeys(("tmux send-keys", "tmux send"), _row("tmux(1) 3.3", "-N -t", form="each")),
    "screen": _row("screen(1) 4.9", "-c -e -h -p -s -S -t -T -X", idle=True),
    "dtach": _row("dtach(1) 0.9", "-e -r -c -A -n -N"), "nq": _row("nq(1) 0.5"),
    # other machines and containers
    "ssh": _row("ssh(1), OpenSSH 9.2", _SHELL_OF_HOST, "", 1, form="text", stdin=True, elsewhere=True),
    "autossh": _row("autossh(1) 1.4", _SHELL_OF_HOST + " -M", "", 1, form="text", elsewhere=True),
    "sshpass": _row("sshpass(1) 1.09", "-f -d -p -P"), "mosh": _row("mosh(1) 1.4", "-p", "", 1, elsewhere=True),
    **dict.fromkeys(("docker run", "docker container run", "docker create", "podman run", "podman container run",
                     "nerdctl run"), _RUN_IN),
    **dict.fromkeys(("docker exec", "docker container exec", "podman exec", "podman container exec", "nerdctl exec",
                     "docker compose exec", "docker compose run", "docker-compose exec", "docker-compose run",
                     "podman-compose exec", "podman-compose run", "podman compose exec", "podman compose run"),
                    _EXEC_IN._replace(texts=words("--entrypoint"), values=_EXEC_IN.values | {"--entrypoint"})),
    **dict.fromkeys(("kubectl exec", "kubectl run", "kubectl debug", "oc exec", "oc rsh", "oc run", "kubecolor exec",
                     "k exec"), _EXEC_IN_POD),
    **dict.fromkeys(("lxc exec", "incus exec", "multipass exec"),
                    _row("lxc 5, incus 6, multipass 1.14: exec --help", "--cwd --env --user --group --project -d "
                         "--working-directory", "", 1, elsewhere=True)),
    **dict.fromkeys(("distrobox enter", "distrobox-enter", "lxc-attach"),
                    _row("distrobox 1.7, lxc 5: --help", "-n --name", "", 0, "--", elsewhere=True)),
    "wsl": _row("wsl --help", "-d -u --distribution --user --cd --system --shell-type", elsewhere=True),
    "toolbox run": _row("toolbox(1) 0.1", "-c -d -r --container --distro --release", elsewhere=True),
    "flatpak run": _row("flatpak-run(1) 1.14", "--branch --arch --runtime --cwd", "--command",
                        form="none", elsewhere=True),
    "vagrant ssh": _row("vagrant 2.4 ssh --help", "", "-c --command", form="none", elsewhere=True),
    "adb shell": _row("adb 34 help", "-e", form="text", elsewhere=True),
    "gcloud compute ssh": _row("gcloud 500 help", "--zone --project", "--command", form="none",
                               elsewhere=True),
    "heroku run": _row("heroku 9 help", "-a -s -e --app --size --env --type", elsewhere=True),
    "fly ssh console": _row("fly 0.3 help", "-a -s -r --app", "-C --command", form="none",
                            elsewhere=True),
    # environments and version managers of developers
    "direnv exec": _row("direnv(1) 2.32", "", "", 1),
    "dotenv run": _row("python-dotenv 1.0 run --help"),
    "dotenv": _row("dotenv-cli 7.4 --help, ruby's dotenv 3.1", "-e -v -p -f", assigns=True),
    "env-cmd": _row("env-cmd 10.1 --help", "-f -r -e --file --rc-file --environments", assigns=True),
    "cross-env": _row("cross-env 7.0 README", assigns=True),
    "cross-env-shell": _row("cross-env 7.0 README", assigns=True, form="text"),
    "envchain": _row("envchain 1.1 README", "", "", 1), "with-contenv": _row("s6-overlay 3.2"),
    "aws-vault exec": _row("aws-vault 7 exec --help", "-d -t --duration --mfa-token --region", "", 1),
    "chamber exec": _row("chamber 3.1 exec --help", after="--"), "op run": _row("op 2.30 run --help",
                                                                                "--env-file --account"),
    "doppler run": _row("doppler 3.69 run --help", "-p -c -t --project --config --token --mount --scope", "--command"),
    "infisical run": _row("infisical 0.32 run --help", "--env --path --tags --projectId", "--command"),
    "sops exec-env": _row("sops 3.9 README", "", "", 1, form="text"),
    "sops exec-file": _row("sops 3.9 README", "", "", 1, form="text"),
    "nix-shell": _row("nix-shell(1) 2.24", _NIX, "--run --command", form="none"),
    **dict.fromkeys(("nix develop", "nix shell"),
                    _row("nix 2.24 develop --help", _NIX, "", 0, "-c --command")),
    "guix shell": _row("guix shell --help 1.4", after="--"),
    "devbox run": _row("devbox 0.13 run --help", "-c -e --config --env --env-file", form="one"),
    **dict.fromkeys(("mise exec", "mise x", "rtx exec", "rtx x"),
                    _row("mise 2024.11 exec --help", "-C -j --cd --jobs", "-c --command", after="--")),
    **dict.fromkeys(("asdf exec", "rbenv exec", "pyenv exec", "nodenv exec", "goenv exec", "jenv exec", "plenv exec"),
                    _VERSIONED),
    "nvm exec": _row("nvm 0.40 --help", "", "", 1), "fnm exec": _row("fnm 1.37 exec --help", "--using"),
    "volta run": _row("volta 2.0 run --help", "--node --npm --pnpm --yarn --env"),
    "rustup run": _row("rustup 1.27 run --help", "", "", 1),
    "cargo watch": _row("cargo-watch 8.5 --help", "-w -i -d --watch --ignore --delay --workdir -C",
                        "-s --shell", 0, "--"),
    **dict.fromkeys(("conda run", "mamba run", "micromamba run"),
                    _row("conda 24 run --help", "-n -p -r --name --prefix --cwd --root-prefix")),
    **dict.fromkeys(("poetry run", "pipenv run", "pdm run", "rye run", "hatch run", "bundle exec", "composer exec"),
                    _row("poetry 1.8, pipenv 2024, pdm 2.21, rye 0.43, hatch 1.13, bundler 2.5, composer 2.8: --help",
                         "-p -s --project --site-packages --gemfile -d --working-dir")),
    "uv run": _row("uv 0.5 run --help", _PYTHON), "tox exec": _row("tox 4 exec --help", after="--"),
    **dict.fromkeys(("uvx", "uv tool run", "pipx run"), _row("uv 0.5, pipx 1.7: run --help", _PYTHON + " --spec "
                                                             "--pip-args -n", versions=True)),
    **dict.fromkeys(("npx", "pnpx", "bunx", "bun x", "pnpm dlx", "yarn dlx"),
                    _row("npm 11 exec --help, pnpm 10 dlx --help, yarn 4 dlx --help", _NODE, "-c --call",
                         versions=True)),
    **dict.fromkeys(("npm exec", "npm x", "pnpm exec", "yarn exec", "yarn run"),
                    _row("npm 11 exec --help, pnpm 10 exec --help, yarn 4 run --help", _NODE, "-c --call",
                         versions=True)),
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3", "py"),
                    _row("python(1) 3.11", "-W -X -Q --check-hash-based-pycs", "", 0, "-m", early=True)),
    "busybox": _row("busybox(1) 1.35"), "toybox": _row("toybox(1) 0.8"), "rtk": _row("rtk README"),
    "winpty": _row("winpty 0.4 --help"),
    # git(1) 2.39
    "git submodule foreach": _row("git-submodule(1)", form="one"),
    "git bisect run": _row("git-bisect(1)"),
    "git rebase": _row("git-rebase(1)", "-C -s -X --onto --strategy --strategy-option --whitespace --empty",
                       "-x --exec", form="none"),
    "git filter-branch": _row("git-filter-branch(1)", "-d --original",
                              "--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter "
                              "--commit-filter --tag-name-filter", form="none"),
    "git for-each-repo": _row("git-for-each-repo(1)", "--config"),
    "git difftool": _row("git-difftool(1)", "-t --tool", "-x --extcmd", form="none"),
}  # fmt: skip

NAMES = frozenset(key.partition(" ")[0] for key in WRAPPERS)
READ_TEXTS = frozenset(name for name, row in WRAPPERS.items() if row.stdin)
_MOST_INPUTS = 20
_DEEPEST = max(key.count(" ") for key in WRAPPERS)


class Inner(NamedTuple):
    """The commands that a program runs: the words of a program with its arguments, and shell texts."""

    row: Wrapper
    words: list[str]
    texts: list[str]
    mark: str = ""
    folder: str = ""


def inner_commands(name: str, line: list[str]) -> Inner | None:
    """The commands that a call of the program `name` runs; None if it is no wrapper."""
    if name not in NAMES:
        return None
    row, rest = WRAPPERS.get(name), line
    plain = without_options(name, line)
    for size in range(min(_DEEPEST, len(plain) - 1), 0, -1):
        found = WRAPPERS.get(" ".join((name, *plain[1 : size + 1])))
        if found is not None:
            row, rest = found, plain[size:]
            break
    return None if row is None else _read(row, rest)


def _read(row: Wrapper, line: list[str]) -> Inner:
    texts: list[str] = []
    mark = folder = ""
    taking = row.values | row.splits
    at, left, ended = 1, row.operands, False
    wanted, allowed = bool(row.after), not row.only_with and row.form != "none"
    while at < len(line):
        word = line[at]
        if wanted and word in row.after:
            wanted = False
            at += 1
            break
        if word == "--" and not ended:
            ended = True
            at += 1
        elif word[:1] == "-" and len(word) > 1 and not ended:
            option, value, after = option_at(line, at, taking)
            if option in row.splits and value is not None:
                line, after = [line[0], *value.split(), *line[after:]], 1
            elif option in row.texts and value:
                texts.append(value)
            elif option in row.folder and value:
                folder = value
            elif row.marks and (option in row.marks or option[:2] == "-i"):
                mark = value or option[2:] * (option[:2] == "-i") or "{}"
            allowed = allowed or option in row.only_with
            at = after + 2 * (option in row.pairs)
        elif row.early:
            break
        elif left or wanted or not allowed:
            left -= left > 0
            at += 1
        elif row.assigns and "=" in word and is_assignment(word):
            at += 1
        else:
            break
    inner = _formed(row, [] if wanted or not allowed else line[at:], texts)
    return inner._replace(mark=mark, folder=folder) if mark or folder else inner


def _formed(row: Wrapper, rest: list[str], texts: list[str]) -> Inner:
    """The meaning of the operands `rest` and of the `texts` of options."""
    if row.until:
        end = next((i for i, word in enumerate(rest) if word.startswith(row.until)), len(rest))
        if not end:
            return Inner(row, [], [*texts, *rest[1:]])
        inputs = [word for word in rest[end + 1 :] if not word.startswith(row.until)] or [""]
        text = " ".join(rest[:end])
        texts += [text.replace("{}", word) if "{}" in text else f"{text} {word}" for word in inputs[:_MOST_INPUTS]]
        return Inner(row, [], texts)
    if not rest:
        return Inner(row, [], texts)
    if row.form == "words" or (row.form == "one" and len(rest) > 1):
        if row.versions and not rest[0].startswith("@"):
            rest = [rest[0].partition("@")[0], *rest[1:]]
        return Inner(row, rest, texts)
    if row.form == "first":
        rest = rest[:1] if rest[0] != "-" else []
    return Inner(row, [], [*texts, *(rest if row.form in ("each", "first") else [" ".join(rest)])])
