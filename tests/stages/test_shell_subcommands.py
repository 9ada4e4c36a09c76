"""Options before a sub-command: whatever stands there and around the call, a rule sees what the program does."""

from random import Random

import pytest

from agentv_stages.model.event import ToolCall
from agentv_stages.shell import without_options
from agentv_stages.shell.subcommands import PROGRAMS
from agentv_stages.trajectory.call_form import CallForm
from support.shell_texts import AROUND, TEXTS, WORDS, Made, single
from support.trajectories import Trace

OPTIONS: dict[str, tuple[str, list[str]]] = {
    "git": ("push", ["-C /w/repo", "-c user.name=x", "--no-pager", "--git-dir=x", "--git-dir x", "--work-tree .", "-p",
                     "--namespace n", "--bare", "-c core.x=push", "-C push", "--exec-path=/x", "--no-optional-locks"]),
    "docker": ("push", ["-H tcp://x", "--host=x", "--context c", "-D", "--config dir", "-l debug", "--tls"]),
    "docker compose": ("down", ["-f a.yml", "--file=b.yml", "-p name", "--profile p", "--env-file .e", "--ansi never"]),
    "podman": ("rm", ["--connection c", "--remote", "--url=x"]),
    "kubectl": ("delete", ["-n prod", "--namespace=prod", "--context c", "--kubeconfig f", "-v 4", "--as me", "-s x"]),
    "helm": ("uninstall", ["-n prod", "--kube-context c", "--debug", "--namespace=x"]),
    "npm": ("publish", ["--prefix dir", "-C dir", "--workspace=a", "-w a", "--silent", "--registry x",
    "--loglevel warn"]),
    "pnpm": ("publish", ["-C dir", "--filter a", "-F a", "-r", "--dir=x", "--reporter silent"]),
    "yarn": ("publish", ["--cwd dir", "--silent", "--cwd=dir", "--registry x"]),
    "bun": ("publish", ["--cwd dir", "--cwd=dir"]),
    "deno": ("publish", ["--quiet", "-L debug", "--log-level=info"]),
    "gh": ("release", ["-R a/b", "--repo a/b", "--repo=a/b"]),
    "gh pr": ("merge", ["-R a/b", "--repo=a/b"]),
    "aws": ("s3", ["--profile p", "--region=eu", "--output json", "--no-cli-pager", "--debug", "--endpoint-url u"]),
    "aws s3": ("rm", ["--profile p", "--region=eu", "--output json"]),
    "gcloud": ("projects", ["--project p", "--account=a", "--quiet", "-q", "--verbosity debug", "--format json"]),
    "gcloud compute instances": ("delete", ["--project p", "--zone=z", "-q"]),
    "az": ("group", ["--subscription s", "-o json", "--only-show-errors", "--debug"]),
    "az vm": ("delete", ["--subscription s", "-g group", "--output=json"]),
    "terraform": ("apply", ["-chdir=dir", "-chdir dir"]),
    "tofu": ("destroy", ["-chdir=dir"]),
    "cargo": ("publish", ["+nightly", "-q", "--color never", "--config a=b", "-Z x", "-C dir", "--offline", "-vv"]),
    "go": ("install", ["-C dir"]),
    "pip": ("install", ["-q", "--proxy x", "--cache-dir=d", "--no-input", "--python p", "--retries 3", "-vvv"]),
    "uv": ("publish", ["-q", "--directory d", "--project=p", "--cache-dir d", "--no-progress", "--color never"]),
    "uv pip": ("install", ["-q", "--directory d", "--python 3"]),
    "poetry": ("publish", ["-C dir", "--directory=d", "-n", "-P d", "--no-ansi", "-vv"]),
    "systemctl": ("restart", ["--user", "-H host", "--machine=m", "--no-pager", "-q", "-t service", "--no-block"]),
    "apt-get": ("remove", ["-y", "-qq", "-o Dpkg::Use-Pty=0", "--option=a=b", "-t sid", "--no-install-recommends"]),
    "dnf": ("remove", ["-y", "-q", "--setopt=a=b", "--enablerepo x", "-c f"]),
    "apk": ("del", ["--no-cache", "-q", "-X url", "--root=r", "-p r"]),
    "brew": ("uninstall", ["-v", "--quiet"]),
    "flatpak": ("uninstall", ["--user", "--installation=x", "-v"]),
    "make": ("deploy", ["-C dir", "-f x.mk", "-j4", "-j 4", "-j", "-s", "A=1", "--directory=d", "-k", "-I inc"]),
    "mvn": ("deploy", ["-f pom.xml", "-q", "-B", "-pl a", "-Dx=y", "-P prod", "-T 4", "--settings s"]),
    "gradle": ("publish", ["-p dir", "-q", "--console=plain", "-Px=y", "-x test", "--no-daemon", "-b f"]),
    "dotnet": ("publish", ["-d", "--roll-forward Major"]),
    "composer": ("remove", ["-d dir", "--working-dir=d", "-n", "-q"]),
    "bundle": ("install", ["--gemfile f", "--verbose"]),
    "conda": ("install", ["-n x", "--name=x", "-p dir"]),
    "hg": ("push", ["-R repo", "--cwd d", "--config a=b", "-q"]),
    "svn": ("commit", ["--username me", "--config-dir d"]),
    "nomad": ("job", ["-address=x", "-region r", "-namespace=n"]),
    "vault": ("delete", ["-address=x", "-namespace n"]),
    "ip": ("link", ["-n ns", "-4", "-j", "-br", "-o", "-f inet"]),
    "zypper": ("remove", ["-n", "-q", "-R root", "--no-refresh"]),
}  # fmt: skip


def call_of(command: str) -> ToolCall:
    [call] = Trace().call("Bash", {"command": command}, command=command, result=False).events
    assert isinstance(call, ToolCall)
    return call


def with_options(random: Random, program: str, options: list[str], sub: str, rest: str) -> str:
    """A call with some of the options in any order, before the last word of the program or after it."""
    chosen = random.sample(options, random.randint(1, min(4, len(options))))
    first, *groups = program.split()
    return " ".join((first, *groups, *chosen, sub, rest))


@pytest.mark.parametrize("program", OPTIONS)
def test_options_before_a_sub_command_hide_nothing_from_a_rule(program: str) -> None:
    random = Random(program)
    sub, options = OPTIONS[program]
    rule, other = CallForm(f"Bash({program} {sub} *)"), CallForm(f"Bash({program} zzz *)")
    for option in options:
        assert rule.fits(call_of(f"{program} {option} {sub} a")), option
        assert not rule.fits(call_of(f"{program} {option} status {sub}")), option
    for _ in range(40):
        text = with_options(random, program, options, sub, "a --force")
        harmless = with_options(random, program, options, "status", sub)
        for template in (random.choice(WORDS), random.choice(TEXTS), random.choice(AROUND)):
            if template in AROUND:
                text, harmless = template.format(text), template.format(harmless)
            else:
                text, harmless = (single(Made(one), template).text for one in (text, harmless))
            assert rule.fits(call_of(text)), text
            assert not other.fits(call_of(text)), text
            assert not rule.fits(call_of(harmless)), harmless


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("git push *", 'bash -lc "git -C x push"'),
        ("git push", "git -C x push"),
        ("git -C x push", "git -C x push"),
        ("git submodule update *", "git -C x submodule --quiet update --init"),
        ("docker compose down *", "docker --context x compose -f a.yml down -v"),
        ("docker-compose down", "docker-compose -p x down"),
        ("kubectl delete pod *", "kubectl -n x delete -l a=b pod y"),
        ("aws s3 rm *", "aws --profile x s3 --region y rm s3://b --recursive"),
        ("pip install *", "python3 -m pip --quiet install x"),
        ("pip install *", "/usr/bin/pip --proxy x install y"),
        ("npm publish", "cd x && sudo npm --prefix y publish"),
        ("cargo publish *", "cargo +nightly -Z x publish --dry-run"),
        ("terraform apply *", "terraform -chdir=x apply -auto-approve"),
    ],
)
def test_a_rule_names_the_program_and_its_sub_command(rule: str, command: str) -> None:
    assert CallForm(f"Bash({rule})").fits(call_of(command))


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("git push *", "git -C push status"),
        ("git push *", "git -c alias.x=push status"),
        ("git push *", "git stash push"),
        ("git push *", "git log push"),
        ("git push", "git -C x push origin"),
        ("git commit", "git commit -m x"),
        ("kubectl apply", "kubectl apply -f x.yaml"),
        ("docker rm *", "docker compose rm x"),
        ("npm publish *", "npm run publish"),
        ("make deploy *", "make -C deploy test"),
        ("make deploy *", "make test deploy"),
    ],
)
def test_another_sub_command_is_not_the_one_of_a_rule(rule: str, command: str) -> None:
    assert not CallForm(f"Bash({rule})").fits(call_of(command))


def test_each_program_of_the_table_has_a_source_and_loses_its_options() -> None:
    for name, row in PROGRAMS.items():
        assert row.source, name
        for option in row.values:
            value = "1" if option.endswith("#") else "x"
            assert without_options(name, [name, option.rstrip("#"), value, "a", "b"])[:2] == [name, "a"], (name, option)
