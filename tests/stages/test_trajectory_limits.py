"""forbid, watched_commands, max_repeats, and the checks on the answer's text."""

from typing import Any

import pytest

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.event import AnyEvent, SessionInfo, ToolCall
from agentv_stages.providers import get_provider
from agentv_stages.trajectory import ConfigError
from support.trajectories import Trace, evaluator_of, score, trace_of


def shell(*commands: str, stream: str = "main") -> list[AnyEvent]:
    trace = Trace().text()
    for command in commands:
        trace.call("Bash", {"command": command}, command=command, stream=stream)
    return trace.events


@pytest.mark.parametrize(
    ("form", "command", "forbidden"),
    [
        ("Bash(rm *)", "rm -rf x", True),
        ("Bash(rm *)", "cd a && rm -rf x; ls", True),
        ("Bash(rm *)", "sudo rm x", True),
        ("Bash(rm *)", "/bin/rm -rf x", True),
        ("Bash(rm *)", "bash -lc 'rm -rf x'", True),
        ("Bash(rm *)", "find . -name '*.o' -exec rm {} +", True),
        ("Bash(rm *)", "cat list | xargs rm -f", True),
        ("Bash(rm *)", "echo $(rm x)", True),
        ("Bash(rm *)", '"rm" -rf x', True),
        ("Bash(rm *)", "rm", True),
        ("Bash(rm:*)", "rm x", True),
        ("Bash(rm *)", 'echo "rm x"', False),
        ("Bash(rm *)", "git rm x", False),
        ("Bash(rm *)", "rmdir x", False),
        ("Bash(git push *)", "git push --force", True),
        ("Bash(git push)", "git push", True),
        ("Bash(git push)", "git push origin", False),
        ("Bash(*--force*)", "git push --force origin", True),
        ("Bash", "ls", True),
        ("Bash(*)", "ls", True),
    ],
)
def test_forbidden_commands_are_found_at_command_position(form: str, command: str, forbidden: bool) -> None:
    assert score({"type": "forbid", "calls": [form]}, shell(command)) == (float(not forbidden), not forbidden)


@pytest.mark.parametrize(
    ("form", "path", "forbidden"),
    [
        ("Edit(src/**)", "/w/src/a/b.py", True),
        ("Edit(src/*)", "/w/src/a/b.py", False),
        ("Edit(src/*)", "/w/src/b.py", True),
        ("Edit(/etc/**)", "/etc/passwd", True),
        ("Edit(/etc/**)", "/home/../etc/passwd", True),
        ("Edit(/etc/**)", "//etc/passwd", True),
        ("Edit(*.lock)", "/w/poetry.lock", True),
        ("Edit(*.lock)", "/w/poetry.toml", False),
        ("Write(src/**)", "/w/src/a.py", False),
        ("kind:write", "/w/a", True),
        ("kind:write(tests/**)", "/w/tests/a.py", True),
    ],
)
def test_forbidden_edits_go_by_path(form: str, path: str, forbidden: bool) -> None:
    events = Trace().call("Edit", {"file_path": path}, files=(path,)).events
    assert score({"type": "forbid", "calls": [form]}, events)[1] is not forbidden


@pytest.mark.parametrize(
    ("form", "command", "forbidden"),
    [
        ("kind:write(tests/**)", "sed -i s/a/b/ tests/a.py", True),
        ("kind:write(tests/**)", "cd /w && rm -rf tests", True),
        ("kind:write(tests/*)", "mv tests old", True),
        ("kind:write(tests/**)", "git checkout HEAD~1 -- tests", True),
        ("kind:write(tests/**)", "cp a.py tests/", True),
        ("kind:write(tests/**)", "cp tests/a.py b.py", False),
        ("kind:write(tests/**)", "cp -r made tests", True),
        ("kind:write(tests/**)", "cp -r tests made", False),
        ("kind:write(tests/**)", "find src tests -name '*.pyc' -delete", True),
        ("kind:write(tests/*.py)", "find tests -name '*.pyc' -delete", False),
        ("kind:write(tests/**)", "find tests -name '*.pyc' && rm made/a.pyc", False),
        ("kind:write(tests/**)", "gzip -9 tests/a.json", True),
        ("kind:write(tests/**)", "gzip -c tests/a.json > a.gz", False),
        ("kind:write(tests/gold/**)", "rm -rf tests", True),
        ("kind:write(tests/gold/**)", "cd /w && rm -rf /w/tests/*", True),
        ("kind:write(tests/*/gold.json)", "git rm -r tests", True),
        ("kind:write(tests/*.py)", "rm -rf tests", True),
        ("kind:write(tests/gold/**)", "rm -rf .", True),
        ("kind:write(tests/gold/**)", "rm -rf -- *", True),
        ("kind:write(/etc/**)", "rm -rf /", True),
        ("kind:write(/etc/**)", "rm -rf .", False),
        ("kind:write(tests/gold/**)", "rm tests/a.py", False),
        ("kind:write(tests/gold/**)", "rm -rf gold tests/golden mytests", False),
        ("kind:write(tests/gold/**)", "cp a.py tests", False),
        ("kind:write(tests/gold/**)", "mv a.py tests", False),
        ("kind:write(*.env)", "rm -rf tests", False),
        ("kind:write(tests/**)", "tar -C tests -xzf a.tgz", True),
        ("kind:write(tests/**)", "rsync -a --exclude tests made/ out/", False),
        ("kind:write(tests/**)", "mkdir -p tests", False),
        ("kind:write(tests/**)", "cat tests/a.py | tee b.py", False),
        ("kind:write(*.env)", "rm a", False),
    ],
)
def test_forbidden_writes_of_a_shell_go_by_path(form: str, command: str, forbidden: bool) -> None:
    [call] = Trace().call("Bash", {"command": command}, result=False).events
    assert isinstance(call, ToolCall)
    events = [Normalize(get_provider("claude").tools).call(call)]
    assert score({"type": "forbid", "calls": [form]}, events)[1] is not forbidden


@pytest.mark.parametrize(
    ("form", "folder", "tool", "args", "forbidden"),
    [
        ("Edit(/etc/**)", "/w/repo", "Edit", {"file_path": "../../etc/passwd"}, True),
        ("Edit(/etc/**)", "/w/repo", "Edit", {"file_path": "../etc/passwd"}, False),
        ("Edit(/w/repo/src/**)", "/w/repo", "Edit", {"file_path": "src/a.py"}, True),
        ("Edit(src/**)", "/usr/src/app", "Edit", {"file_path": "/usr/src/app/lib/a.py"}, False),
        ("Edit(src/**)", "/usr/src/app", "Edit", {"file_path": "/usr/src/app/lib/src/a.py"}, True),
        ("Edit(src/**)", "/usr/src/app", "Edit", {"file_path": "/usr/src/other/a.py"}, True),
        ("Edit(src/**)", "C:\\src\\app", "Edit", {"file_path": "C:\\src\\app\\a.py"}, False),
        ("Edit(~/.ssh/**)", "/w/repo", "Edit", {"file_path": "~/.ssh/config"}, True),
        ("kind:write(tests/**)", "/home/tests/repo", "Bash", {"command": "rm a.py"}, False),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "cd tests && rm a.py"}, True),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "cd /w/repo/tests/gold && echo > a"}, True),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "cd tests && cd .. && rm a.py"}, False),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "rm a.py", "workdir": "tests"}, True),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "rm a.py", "workdir": "/w/repo/tests"}, True),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "rm a.py", "workdir": "/w/repo"}, False),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "rm -rf /w/repo"}, True),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "rm -rf /w"}, True),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "rm -rf /w/rep"}, False),
        ("kind:write(tests/**)", "/w/repo", "Bash", {"command": "cd /tmp && rm -rf ."}, False),
        ("kind:read(secrets/**)", "/w/repo", "Bash", {"command": "cd secrets; cat a"}, True),
    ],
)
def test_paths_are_meant_from_the_folder_of_the_session(
    form: str, folder: str, tool: str, args: Any, forbidden: bool
) -> None:
    [call] = Trace().call(tool, args, result=False).events
    assert isinstance(call, ToolCall)
    session = SessionInfo(call.source, "-info", cwd=folder)
    events: list[AnyEvent] = [session, Normalize(get_provider("claude").tools).call(call)]
    assert score({"type": "forbid", "calls": [form]}, events)[1] is not forbidden


@pytest.mark.parametrize(
    ("form", "tool", "args", "forbidden"),
    [
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://docs.example.com/x"}, True),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.com.evil.org/"}, False),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://u:p@example.com:8080/"}, True),
        ("mcp__db", "mcp__db__query", {}, True),
        ("mcp__db__*", "mcp__db__query", {}, True),
        ("mcp__db", "mcp__database__query", {}, False),
        ("WebFetch(domain:*.example.com)", "WebFetch", {"url": "https://a.example.com./x"}, True),
        ("Skill(deploy*)", "Skill", {"skill": "deploy-prod"}, True),
        ("WebSearch", "WebSearch", {}, True),
    ],
)
def test_forbidden_calls_of_other_tools(form: str, tool: str, args: Any, forbidden: bool) -> None:
    assert score({"type": "forbid", "calls": form}, trace_of([(tool, args)]))[1] is not forbidden


def test_a_shell_read_under_a_finer_name_is_still_a_shell_call() -> None:
    events = Trace().call("Read", {"command": "cat .env"}, name="exec_command", command="cat .env").events
    assert score({"type": "forbid", "calls": ["Bash(cat .env*)"]}, events) == (0, False)


def test_forbid_is_violated_for_good_at_once_and_sees_sub_agents() -> None:
    evaluator = evaluator_of({"type": "forbid", "calls": ["Bash(rm *)"]})
    decisions = [d for event in shell("ls", "rm x", stream="sidechain:a") for d in evaluator.push(event)]
    assert [d.standing for d in decisions] == ["violated"]
    assert score({"type": "forbid", "calls": ["Bash(rm *)"], "streams": "main"}, shell("rm x", stream="s")) == (1, True)


def test_forbid_is_required_unless_the_spec_says_otherwise() -> None:
    assert evaluator_of({"type": "forbid", "calls": ["Bash"]}).terms.required
    assert not evaluator_of({"type": "forbid", "calls": ["Bash"], "required": False}).terms.required


@pytest.mark.parametrize("calls", [None, [], [3], "Bash(", "a b"])
def test_what_is_no_form_of_a_call_is_refused(calls: Any) -> None:
    with pytest.raises(ConfigError):
        evaluator_of({"type": "forbid", "calls": calls})


def test_watched_commands_used_and_not_used() -> None:
    config = {"type": "watched-commands", "used": ["bobbin"], "not_used": ["curl"]}
    assert score(config, shell("bobbin search x")) == (1, True)
    assert score(config, shell("ls /tmp/bobbin-eval")) == (0.5, False)
    assert score(config, shell("bobbin x && curl y")) == (0.5, False)
    used = evaluator_of({"type": "watched-commands", "used": ["bobbin"]})
    for event in shell("bobbin x"):
        used.push(event)
    assert used.standing == "satisfied"


def test_max_repeats_counts_equal_calls_within_the_window() -> None:
    config = {"type": "max-repeats", "max": 2}
    again = ("Read", {"file_path": "a"})
    assert score(config, trace_of([again, ("Edit", {}), again])) == (1, True)
    assert score(config, trace_of([again, ("Edit", {}), again, ("Grep", {}), again])) == (0, False)
    spread = [again, *[("Read", {"n": i}) for i in range(10)]] * 3
    assert score({**config, "max": 1, "window": 5}, trace_of(spread)) == (1, True)


@pytest.mark.parametrize(
    ("kind", "value", "passes"),
    [
        ("contains", "done", True),
        ("contains", "DONE", False),
        ("icontains", "DONE", True),
        ("contains-any", ["x", "done"], True),
        ("contains-all", ["x", "done"], False),
        ("starts-with", "all", True),
        ("ends-with", "now", True),
        ("equals", "all done now", True),
        ("regex", "d.ne", True),
        ("regex", "^done$", False),
        ("is-json", None, False),
    ],
)
def test_checks_on_the_text_of_the_last_answer(kind: str, value: Any, passes: bool) -> None:
    trace = Trace().text("at first", "1").text("all done ", "2").text("now", "2").text("sub", "3", "sidechain:a")
    assert score({"type": kind, "value": value}, trace.events) == (float(passes), passes)


def test_a_bad_pattern_is_refused() -> None:
    with pytest.raises(ConfigError, match="bad pattern"):
        evaluator_of({"type": "regex", "value": "("})


def test_the_same_arguments_are_the_same_call_however_they_are_written() -> None:
    trace = Trace()
    for args in ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}):
        trace.call("Read", args)
    assert score({"type": "max-repeats", "max": 1}, trace.events) == (0, False)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_what_only_python_takes_for_json_is_none(text: str) -> None:
    assert score({"type": "is-json"}, Trace().text(text).events) == (0, False)


@pytest.mark.parametrize("config", [{"type": "cost", "threshold": 2}, {"type": "cost", "budget": 2}])
def test_a_cost_may_name_its_limit_as_a_latency_does(config: Any) -> None:
    assert isinstance(evaluator_of(config).result().score, float)


@pytest.mark.parametrize(
    ("config", "known", "wrong"),
    [
        ({"type": "trajectory:tool-used", "value": {"name": "Read", "mni": 2}}, "min", "mni"),
        ({"type": "trajectory:tool-args-match", "value": {"name": "R", "args": {}, "ignroe": []}}, "ignore", "ignroe"),
        ({"type": "trajectory:tool-sequence", "value": {"steps": ["a"], "mod": "exact"}}, "mode", "mod"),
        ({"type": "trajectory:tool-sequence", "value": [{"nam": "x"}]}, "name", "nam"),
        ({"type": "trajectory:step-count", "value": {"min": 1, "typ": "tool"}}, "type", "typ"),
        ({"type": "skill-used", "value": {"name": "a", "mim": 1}}, "min", "mim"),
        ({"type": "forbid", "calls": ["kind:wirte(src/**)"]}, "write", "wirte"),
        (
            {
                "type": "composite",
                "assertions": [{"type": "is-json"}],
                "aggregator": {"type": "minimum", "wieghts": {}},
            },
            "weights",
            "wieghts",
        ),
    ],
)
def test_a_slip_in_a_nested_name_is_refused(config: Any, known: str, wrong: str) -> None:
    with pytest.raises(ConfigError) as caught:
        evaluator_of(config)
    assert caught.value.wrong == wrong and known in caught.value.known


@pytest.mark.parametrize(
    "config",
    [
        {"type": "is-json", "compat": "agentvv"},
        {"type": "regex", "value": "a", "flags": "q"},
        {"type": "composite", "assertions": [{"type": "is-json"}], "aggregator": "all_or_noting"},
        {"type": "is-json", "weight": float("inf")},
        {"type": "tool-trajectory", "expected": []},
    ],
)
def test_values_that_mean_nothing_are_refused(config: Any) -> None:
    with pytest.raises(ConfigError):
        evaluator_of(config)


def test_the_name_of_a_server_may_hold_two_underscores() -> None:
    config = {"type": "forbid", "calls": ["mcp__my__server"]}
    assert score(config, Trace().call("mcp__my__server__query", server="my__server").events) == (0, False)
    assert score(config, Trace().call("mcp__my__other", server="my").events) == (1, True)
