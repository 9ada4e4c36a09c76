"""The options that precede a sub-command (`git -C x push`): program -> which of them take the next word. Data only.

A rule such as `Bash(git push *)` names the program and its sub-command; what stands between them is not part of it.
Taken from the help texts and manual pages of the versions that the rows name.
"""

from typing import NamedTuple

from agentv_stages.shell.options import is_assignment, option_at
from agentv_stages.shell.tables import words


class Program(NamedTuple):
    """A program with sub-commands. `values` are options before a sub-command that take the next word (`#`: only a
    number). `levels` is the number of words that name its action (`gcloud compute instances delete` has three); with
    `groups`
    that many only after these sub-commands, else one. `signs` begin an option. `assigns`: variables stand among the
    options (`make A=1 x`)."""

    source: str
    values: frozenset[str] = frozenset()
    levels: int = 1
    groups: frozenset[str] | None = None
    signs: str = "-"
    assigns: bool = False


def _row(
    source: str, values: str = "", levels: int = 1, groups: str = "", signs: str = "-", assigns: bool = False
) -> Program:
    return Program(source, words(values), levels, words(groups) if groups else None, signs, assigns)


_DOCKER = _row(
    "docker 27 --help, docker compose --help, podman 5 --help",
    "-c -H -l --config --context --host --log-level --tlscacert --tlscert --tlskey --connection --identity --root "
    "--runroot --storage-driver --storage-opt --url --cgroup-manager --namespace -n --address -a "
    "-f -p --file --project-name --profile --env-file --project-directory --ansi --progress --parallel --builder",
    2,
    "builder buildx checkpoint compose config container context image manifest network node plugin secret service "
    "stack swarm system trust volume pod machine generate play kube",
)
_COMPOSE = _DOCKER._replace(levels=1, groups=None)
_KUBECTL = _row(
    "kubectl 1.31 options",
    "-n -s -v --namespace --context --cluster --user --kubeconfig --server --token --as --as-group --as-uid "
    "-o -l -f -c -k -L --output --selector --filename --container --field-selector --kustomize --label-columns "
    "--cache-dir --certificate-authority --client-certificate --client-key --log-flush-frequency --password "
    "--profile --profile-output --request-timeout --tls-server-name --username --v --vmodule",
    2,
)
_NPM = _row(
    "npm 11 config, flags of pnpm 10 --help and yarn 1.22 and 4 --help",
    "-C -w -F --dir --prefix --workspace --filter --filter-prod --cwd --cache --registry --userconfig --globalconfig "
    "--loglevel --reporter --tag --otp --modules-folder --cache-folder --mutex --use-yarnrc --workspace-concurrency "
    "--store-dir --script-shell",
    2,
    "workspace cache config pkg access dist-tag org owner profile team token npm plugin env store",
)
_PIP = _row(
    "pip 24 --help",
    "--python --log --keyring-provider --proxy --retries --timeout --exists-action --trusted-host --cert --client-cert "
    "--cache-dir",
    2,
    "cache config index",
)
_APT = _row(
    "apt-get(8), apt(8) of Debian 12",
    "-o -c -t -a --option --config-file --target-release --default-release --host-architecture",
)
_DNF = _row(
    "dnf 4 and 5, yum, zypper 1.14 --help",
    "-c -d -e -R -x -D --config --debuglevel --errorlevel --releasever --installroot --exclude --enablerepo "
    "--disablerepo --repo --repoid --setopt --forcearch --comment --randomwait --root --reposd-dir --plus-content",
)
_TERRAFORM = _row(
    "terraform 1.9, tofu 1.8 -help",
    "-chdir",
    2,
    "state workspace providers metadata",
)
_CONDA = _row(
    "conda 24, mamba 1.5 --help", "-n -p -r --name --prefix --root-prefix --rc-file --log-level", 2, "env config"
)
_MVN = _row(
    "mvn 3.9 --help, gradle 8 --help",
    "-f -s -gs -t -P -pl -rf -T -l -p -b -c -D -I -g -x --file --settings --global-settings --toolchains "
    "--activate-profiles --projects --resume-from --threads --log-file --project-dir --build-file --settings-file "
    "--init-script --gradle-user-home --project-prop --system-prop --max-workers --console --include-build "
    "--exclude-task",
)
_FLATPAK = _row("flatpak 1.14 --help", "--installation --arch")
_SYSTEMD = _row(
    "systemctl(1), loginctl(1), machinectl(1), busctl(1), hostnamectl(1) of systemd 252",
    "-H -M -t -p -s -n -o -P --host --machine --type --state --property --kill-whom --kill-who --signal --what --root "
    "--image --lines --output --job-mode --preset-mode --message --check-inhibitors --boot-loader-entry "
    "--boot-loader-menu --reboot-argument --timestamp --when",
)
_CLOUD = "--project --account --region --zone --format --verbosity --configuration"

PROGRAMS: dict[str, Program] = {
    "git": _row(
        "git(1) 2.39",
        "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source",
        2,
        "submodule remote stash worktree bisect notes bundle lfs sparse-checkout reflog maintenance flow subtree",
    ),
    "docker": _DOCKER, "podman": _DOCKER, "nerdctl": _DOCKER,
    "docker-compose": _COMPOSE, "podman-compose": _COMPOSE,
    "kubectl": _KUBECTL, "oc": _KUBECTL, "kubecolor": _KUBECTL, "k": _KUBECTL,
    "helm": _row(
        "helm 3.16 --help",
        "-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-as-group --kube-as-user --kube-ca-file "
        "--kube-token --kube-tls-server-name --burst-limit --qps --registry-config --repository-cache "
        "--repository-config",
        2,
        "repo plugin registry dependency get show search",
    ),
    "npm": _NPM, "pnpm": _NPM, "yarn": _NPM,
    "bun": _row("bun 1.1 --help", "--cwd -c --config --env-file -r --preload --filter -F --tsconfig-override", 2, "pm"),
    "deno": _row("deno 2 --help", "-L --log-level"),
    "gh": _row("gh 2.62 --help", "-R --repo --hostname", 2),
    "glab": _row("glab 1.48 --help", "-R --repo -g --group", 2),
    "aws": _row(
        "aws 2.19 help",
        "--profile --region --output --endpoint-url --query --ca-bundle --color --cli-read-timeout "
        "--cli-connect-timeout --cli-binary-format",
        2,
    ),
    "gcloud": _row(
        "gcloud 500 topic flags",
        f"{_CLOUD} --billing-project --impersonate-service-account --access-token-file --flags-file --flatten "
        "--trace-token ",
        4,
    ),
    "gsutil": _row("gsutil 5.30 help", "-o -h -u -i"),
    "az": _row("az 2.67 --help", "-o -g -n --output --query --subscription --resource-group --name --location -l", 4),
    "terraform": _TERRAFORM, "tofu": _TERRAFORM, "terragrunt": _TERRAFORM,
    "pulumi": _row("pulumi 3.140 --help", "-C --cwd -v --verbose --color --profiling --tracing -s --stack", 2,
                   "stack config plugin policy org state"),
    "cargo": _row("cargo 1.82 --help", "-C -Z --color --config --explain", 1, "", "-+"),
    "rustup": _row("rustup 1.27 --help", "", 2, "toolchain target component override self", "-+"),
    "go": _row("go 1.23 help", "-C", 2, "mod work env tool"),
    "pip": _PIP, "pip3": _PIP, "pipx": _row("pipx 1.7 --help", ""),
    "uv": _row(
        "uv 0.5 --help",
        "--directory --project --config-file --cache-dir --color --python-preference --allow-insecure-host --python -p "
        "--env-file",
        2,
        "pip tool python cache self",
    ),
    "poetry": _row("poetry 1.8 --help", "-C -P --directory --project", 2, "env cache source self config"),
    "pdm": _row("pdm 2.21 --help", "-c --config -p --project"),
    "pipenv": _row("pipenv 2024 --help", "--python --pypi-mirror"),
    "hatch": _row("hatch 1.13 --help", "-e -p --env --project --data-dir --cache-dir --config", 2,
                  "env config dep python"),
    "rye": _row("rye 0.43 --help", ""),
    "conda": _CONDA, "mamba": _CONDA, "micromamba": _CONDA,
    "bundle": _row("bundler 2.5 help", "--gemfile -r --retry"), "gem": _row("gem 3.5 help", "--config-file"),
    "rails": _row("rails 7 --help", "-e --environment"), "rake": _row("rake 13 --help", "-f -C -R -I -r -j#"),
    "composer": _row("composer 2.8 --help", "-d --working-dir"),
    "dotnet": _row("dotnet 8 --help", "--additionalprobingpath --additional-deps --fx-version --roll-forward", 2,
                   "nuget tool workload sln new"),
    "mvn": _MVN, "mvnw": _MVN, "gradle": _MVN, "gradlew": _MVN,
    "sbt": _row("sbt 1.10 --help", "-mem -jvm-debug -ivy -sbt-dir --mem --sbt-dir"),
    "make": _row("GNU make 4.3 --help", "-C -f -I -o -W -E -j# -l# --directory --file --makefile --include-dir "
                 "--old-file --what-if --eval", 1, "", "-", True),
    "ninja": _row("ninja 1.11 --help", "-C -f -j -k -l -d -t -w"),
    "just": _row("just 1.36 --help", "-f -d --justfile --working-directory --shell --shell-arg --color ", 1, "",
                 "-", True),
    "task": _row("task 3.40 --help", "-d -t -C -o --dir --taskfile --concurrency --output", 1, "", "-", True),
    "meson": _row("meson 1.6 --help", ""), "bazel": _row("bazel 7 help", "--output_base --output_user_root --bazelrc"),
    "nx": _row("nx 20 --help", ""), "turbo": _row("turbo 2.3 --help", "--cwd --api --token --team "),
    "lerna": _row("lerna 8 --help", "--loglevel --concurrency --scope --ignore"),
    "apt": _APT, "apt-get": _APT, "aptitude": _APT, "apt-cache": _APT, "apt-mark": _APT,
    "dnf": _DNF, "yum": _DNF, "zypper": _DNF, "microdnf": _DNF, "dnf5": _DNF,
    "apk": _row("apk 2.14 --help", "-p -X -t --root --repository --arch --keys-dir --repositories-file --wait "
                "--cache-dir --virtual"),
    "brew": _row("brew 4.4 --help", "", 2, "services bundle"),
    "snap": _row("snap 2.66 --help", ""), "flatpak": _FLATPAK, "ostree": _FLATPAK, "rpm-ostree": _FLATPAK,
    "port": _row("port(1) of MacPorts 2.10", "-D -F"),
    "choco": _row("choco 2.3 --help", ""), "winget": _row("winget 1.9 --help", ""),
    "systemctl": _SYSTEMD, "loginctl": _SYSTEMD, "machinectl": _SYSTEMD, "busctl": _SYSTEMD, "hostnamectl": _SYSTEMD,
    "supervisorctl": _row("supervisorctl 4.2 --help", "-c -s -u -p -r --configuration --serverurl --username"),
    "pm2": _row("pm2 5.4 --help", "-n -i --name"), "launchctl": _row("launchctl(1)", ""),
    "service": _row("service(8) of Debian 12", ""),
    "ip": _row("ip(8) of iproute2 6.1", "-n -b -f -l -rc -netns -batch -family -loops -rcvbuf", 2),
    "nmcli": _row("nmcli(1) 1.42", "-f -g -m -w -c -e --fields --get-values --mode --wait --colors --escape", 2),
    "ufw": _row("ufw(8) 0.36", ""), "firewall-cmd": _row("firewall-cmd(1)", "--zone"),
    "zfs": _row("zfs(8) 2.1", ""), "zpool": _row("zpool(8) 2.1", ""),
    "btrfs": _row("btrfs(8) 6.2", "--format --log", 2),
    "virsh": _row("virsh(1) 9", "-c -d -l -e -k -K --connect --debug --log --escape"),
    "vagrant": _row("vagrant 2.4 --help", "", 2, "box plugin snapshot"),
    "lxc": _row("lxc 5.21 --help", "--project", 2), "incus": _row("incus 6 --help", "--project", 2),
    "minikube": _row("minikube 1.34 options", "-p -b -v --profile --bootstrapper --v"),
    "kind": _row("kind 0.25 --help", "-v --verbosity", 2), "k3d": _row("k3d 5.7 --help", "", 2),
    "eksctl": _row("eksctl 0.195 --help", "-v -C --verbose --color", 2),
    "argocd": _row("argocd 2.13 --help", "--server --auth-token --config --grpc-web-root-path --kube-context "
                   "--loglevel --logformat --header -H", 2),
    "flux": _row("flux 2.4 --help", "-n --namespace --context --kubeconfig --timeout", 2),
    "istioctl": _row("istioctl 1.24 --help", "-n -c -i --namespace --context --kubeconfig --istioNamespace"),
    "skaffold": _row("skaffold 2.13 options", "-v --verbosity --color"),
    "vault": _row("vault 1.18 --help", "-address -namespace -ca-cert -format", 2,
                  "kv auth secrets policy token lease operator audit plugin"),
    "consul": _row("consul 1.20 --help", "", 2, "kv acl services"),
    "nomad": _row("nomad 1.9 --help", "-address -region -namespace -token", 2, "job node system acl var volume"),
    "heroku": _row("heroku 9 --help", "-a -r --app --remote"),
    "fly": _row("fly 0.3 --help", "-a -t --app --access-token", 2),
    "flyctl": _row("flyctl 0.3 --help", "-a -t --app --access-token", 2),
    "vercel": _row("vercel 39 --help", "-A -Q -S -t --cwd --local-config --global-config --scope --token --team -T"),
    "netlify": _row("netlify 17 --help", "--auth --site --filter"),
    "wrangler": _row("wrangler 3.91 --help", "-c -e --config --env --cwd", 2, "kv d1 r2 secret pages queues"),
    "firebase": _row("firebase 13 --help", "-P -c --project --config --account --token"),
    "supabase": _row("supabase 1.220 --help", "--workdir --dns-resolver --network-id -o --output", 2),
    "doctl": _row("doctl 1.119 --help", "-t -u -c -o --access-token --api-url --config --context --output", 3),
    "hg": _row("hg(1) 6.3", "-R --repository --cwd --config --color --pager --encoding"),
    "svn": _row("svn 1.14 help", "--username --password --config-dir --config-option"),
    "jj": _row("jj 0.24 help", "-R --repository --at-operation --config --config-toml --color", 2,
               "git bookmark operation workspace"),
    "npx": _row("npx 11", "-p -c -w --package --call --workspace --prefix"),
    "wsl": _row("wsl --help", ""),
    "dotenv": _row("python-dotenv 1.0 --help", "-f -q -e --file --quote --export"),
    "mise": _row("mise 2024.11 --help", "-C -E -P --cd --env --profile"),
    "direnv": _row("direnv 2.32 help", ""),
    "nix": _row("nix 2.24 --help", "--option --log-format --max-jobs -j --arg --argstr -I", 2,
                "flake profile store registry"),
    "perf": _row("perf(1) 6.1", "--buildid-dir "),
    "tmux": _row("tmux(1) 3.3", "-c -f -L -S -T"),
    "git-lfs": _row("git-lfs(1)", ""), "dvc": _row("dvc 3.57 --help", "--cd", 2, "remote config cache"),
    "ansible-galaxy": _row("ansible-galaxy 2.17 --help", "", 2),
    "molecule": _row("molecule 24 --help", "-c --base-config"),
    "aws-vault": _row("aws-vault 7 --help", "--backend --prompt --keychain --secret-service-collection --pass-dir"),
    "op": _row("op 2.30 --help", "--account --config --format --session --encoding", 2,
               "item vault user group document connect service-account account"),
    "doppler": _row("doppler 3.69 --help", "-t -p -c --token --project --config --scope --api-host --configuration "
                    "--attempts --timeout"),
    "rbenv": _row("rbenv 1.3", ""), "pyenv": _row("pyenv 2.4", ""), "asdf": _row("asdf 0.14", "", 2, "plugin"),
}  # fmt: skip


def without_options(name: str, line: list[str]) -> list[str]:
    """The words of a call of the program `name` without the options before its sub-command; `line` itself if there
    are none, or if the program is in no table."""
    row = PROGRAMS.get(name)
    if row is None:
        return line
    at = rest = 1
    kept, levels = [line[0]], row.levels
    while len(kept) <= levels and at < len(line):
        word = line[at]
        if word[:1] in row.signs and len(word) > 1:
            at = option_at(line, at, row.values)[2] if word[0] == "-" else at + 1
        elif row.assigns and "=" in word and is_assignment(word):
            at += 1
        else:
            if len(kept) == 1 and row.groups is not None and word not in row.groups:
                levels = 1
            kept.append(word)
            at = rest = at + 1
    return line if len(kept) == rest else [*kept, *line[rest:]]
