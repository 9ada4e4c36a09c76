"""mini-swe-agent's trajectories: all three forms, what became of each command, ends, damage."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, Reasoning, SessionEnd, SessionInfo, ToolCall, ToolResult, UserText
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.mini_swe_agent import PROVIDER
from agentv_stages.providers.mini_swe_agent.outcomes import FENCES, TAGS, commands_in
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    dialect,
    document,
    events_of,
    texts,
    total,
    usages,
)

DIALECT = dialect(PROVIDER, "mini-swe-agent")
FILES = ("run.traj.json", "responses.traj.json", "v1.traj.json")
DIFF = "diff --git a/slug.py b/slug.py\n-    return title.lower()\n+    return title.lower().replace(' ', '-')\n"
NOT_EXECUTED = {
    "raw_output": "",
    "returncode": -1,
    "timestamp": 1772443850.0,
    "exception_info": "action was not executed",
}


def fixture(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((FIXTURES / "mini-swe-agent" / name).read_bytes())
    return value


def told(value: dict[str, Any]) -> list[AnyEvent]:
    return events_of(DIALECT, document(value))


def chain(value: dict[str, Any]) -> list[AnyEvent]:
    """Events after pairing, what was left open behind them."""
    normalize, pair = Normalize(PROVIDER.tools), Pair()
    batch = Decode(DIALECT, DecodeContext("log")).push(Batch("log", records=document(value), document=True))[0]
    for stage in (normalize, pair):
        (batch,) = stage.push(batch)
    return [*batch.events, *(event for rest in pair.flush() for event in rest.events)]


def outcomes(value: dict[str, Any]) -> list[tuple[str, str | None, int | None]]:
    """Command, outcome and exit code of each call, in the order of the results."""
    found = [event for event in chain(value) if isinstance(event, ToolResult)]
    return [(str(e.call.command if e.call else None), e.outcome, e.exit_code) for e in found]


def run(*messages: dict[str, Any], **info: Any) -> dict[str, Any]:
    """A run of 2.x with an answer that asks for `messages`' calls."""
    given = {"model_stats": {"instance_cost": 0.1, "api_calls": 1}, "mini_version": "2.4.6", **info}
    asked = [{"role": "system", "content": "s"}, {"role": "user", "content": "fix it"}]
    return {"info": given, "messages": [*asked, *messages], "trajectory_format": "mini-swe-agent-1.1"}


def answer(*commands: str, text: str = "t", ids: bool = True) -> dict[str, Any]:
    asked = [
        {"id": f"c{i}", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
        for i, command in enumerate(commands)
    ]
    actions = [{"command": c, **({"tool_call_id": f"c{i}"} if ids else {})} for i, c in enumerate(commands)]
    extra = {"actions": actions, "cost": 0.1, "timestamp": 1772443800.0}
    return {"role": "assistant", "content": text, "tool_calls": asked if ids else None, "extra": extra}


def unexecuted(call: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": "not executed", "extra": NOT_EXECUTED}


def leaves(status: str, submission: str = "", **extra: Any) -> dict[str, Any]:
    return {"role": "exit", "content": submission, "extra": {"exit_status": status, "submission": submission, **extra}}


def ends(value: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(event.status, event.reason) for event in told(value) if isinstance(event, SessionEnd)]


@pytest.mark.parametrize("name", FILES)
def test_it_is_told_by_its_content(name: str) -> None:
    assert best(PROVIDER, document(fixture(name))) == ("mini-swe-agent", 1.0)


def test_the_first_form_has_no_name() -> None:
    info = {"exit_status": "Submitted", "submission": "", "model_stats": {"instance_cost": 0.0, "api_calls": 1}}
    value = {"info": info, "messages": [{"role": "system", "content": "s"}]}
    assert best(PROVIDER, document(value)) == ("mini-swe-agent", 1.0)
    assert best(PROVIDER, document({**value, "messages": None})) == ("mini-swe-agent", 0.0)


def test_swe_agents_own_trajectory_is_another_format() -> None:
    value: dict[str, Any] = {
        "trajectory": [],
        "history": [],
        "info": {"exit_status": "submitted", "model_stats": {"api_calls": 1}},
    }
    assert best(PROVIDER, document(value)) == ("mini-swe-agent", 0.0)


def test_what_became_of_each_command() -> None:
    assert outcomes(fixture("run.traj.json")) == [
        ("cat slug.py", "ok", 0),
        ("None", "error", None),  # read_file, which there is not
        ("ls", "error", None),  # refused with it
        ("sed -i \"s/lower()/lower().replace(' ', '-')/\" slug.py", "ok", 0),
        ("python test_slug.py", "error", 1),
        ("echo on; sleep 60", "error", None),  # timed out: -1 is no exit code
        ("rm test_slug.py", "denied", None),
        ("ls", "ok", 0),
        ("sleep 20", "cancelled", None),
        ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff", "ok", None),
    ]


def test_what_became_of_each_command_in_1x() -> None:
    assert outcomes(fixture("v1.traj.json")) == [
        ("cat slug.py", "ok", 0),
        ("cat <<'EOF' > slug.py\ndef slug(title):\n    return title.lower().replace(' ', '-')\nEOF", "ok", 0),
        ("python test_slug.py", "error", 1),
        ("rm test_slug.py", "denied", None),
        ("sleep 60", "error", None),
        ("sleep 20", "cancelled", None),
        ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff", "ok", None),
    ]


def test_shell_calls_bear_the_finer_name() -> None:
    found = [(e.tool, e.kind) for e in chain(fixture("responses.traj.json")) if isinstance(e, ToolCall)]
    assert found == [("Grep", "search"), ("Bash", "execute")]


def test_the_submission_is_the_output_of_its_command() -> None:
    for name in ("run.traj.json", "v1.traj.json"):
        last = [event for event in told(fixture(name)) if isinstance(event, ToolResult)][-1]
        assert last.output == DIFF


def test_texts_thoughts_and_refused_answers() -> None:
    events = told(fixture("run.traj.json"))
    said = ["I look at it first.", "It needs an edit.", "Fix and test.", "Away with the test?", "Then the slow one."]
    assert texts(events) == said
    assert [e.text for e in events if isinstance(e, Reasoning)] == ["Which file?"]
    assert texts(told(fixture("responses.traj.json"))) == ["Looking.", "Done, I think."]


def test_prompts_are_what_was_typed() -> None:
    events = told(fixture("run.traj.json"))
    prompts = [e.text for e in events if isinstance(e, UserText) and not e.injected]
    assert [text.partition("\n")[0] for text in prompts] == [
        "Please solve this issue: slug() keeps spaces.",
        "Commands not executed. The user rejected your commands with the following message: no, keep it",
        "Interrupted by user: that is enough",
        "User command: ",
    ]
    injected = [e.text for e in events if isinstance(e, UserText) and e.injected]
    assert len(injected) == 3  # the system message, the refusal, what the user's own command gave
    in_v1 = [e.text for e in told(fixture("v1.traj.json")) if isinstance(e, UserText) and not e.injected]
    assert in_v1[2:] == ["\n```bash\ngit status --short\n```"]  # a command of the user's, no answer


def test_tokens_and_costs() -> None:
    events = told(fixture("run.traj.json"))
    assert total(events) == {"input": 9100, "cached": 6748, "output": 250, "reasoning": 30}
    assert sum(u.cost_usd or 0 for u in usages(events)) == pytest.approx(0.003)
    other = told(fixture("responses.traj.json"))
    assert total(other) == {"input": 3300, "cached": 2100, "output": 89, "reasoning": 64}
    assert [u.cost_usd for u in usages(other)] == [None] * 3  # 0.0: the agent did not know the price
    assert [e.cost_usd for e in other if isinstance(e, SessionEnd)] == [None]
    assert total(told(fixture("v1.traj.json")))["input"] == 10_800


def test_the_session() -> None:
    info, titled = [event for event in told(fixture("run.traj.json")) if isinstance(event, SessionInfo)]
    assert (info.session_id, info.model, info.version) == (None, "pear-2", "2.4.6")
    assert (info.cwd, titled.title) == ("/home/ada/orchard", "ada__orchard-7")


def test_a_change_of_the_model_is_told() -> None:
    first, second = answer("ls"), answer("pwd")
    first["extra"]["response"], second["extra"]["response"] = {"model": "pear-2"}, {"model": "plum-1"}
    infos = [event for event in told(run(first, second)) if isinstance(event, SessionInfo)]
    assert [info.model for info in infos] == ["pear-2", "plum-1"]


def test_ends() -> None:
    assert ends(fixture("run.traj.json")) == [("complete", "Submitted")]
    assert ends(fixture("v1.traj.json")) == [("complete", "Submitted")]
    assert ends(fixture("responses.traj.json")) == [("error", "LimitsExceeded")]
    assert ends(run(answer("ls"), leaves("ValueError", exception_str="no"))) == [("error", "ValueError: no")]
    assert ends(run(answer("ls"), exit_status="")) == []
    assert ends(run(exit_status="UndefinedError")) == [("error", "UndefinedError")]  # it broke before its first step


def test_a_document_that_was_cut_off_has_no_end() -> None:
    value = fixture("v1.traj.json")
    del value["messages"][-2:], value["trajectory_format"]
    assert ends(value) == []
    whole = fixture("v1.traj.json")
    del whole["trajectory_format"]  # as in 1.6 and before
    assert ends(whole) == [("complete", "Submitted")]


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (leaves("Submitted", "done"), ["ok", "cancelled"]),
        (leaves("EOFError"), ["cancelled", "cancelled"]),
        ({"role": "user", "content": "The user added a new task: more"}, ["ok", "cancelled"]),
        ({"role": "user", "content": "Switched to human mode."}, ["ok", "cancelled"]),
        (
            {"role": "user", "content": "Interrupted by user: Temporary interruption caught."},
            ["cancelled", "cancelled"],
        ),
        ({"role": "user", "content": "Commands not executed. Switching to human mode"}, ["denied", "denied"]),
        (None, ["cancelled", "cancelled"]),
    ],
)
def test_why_commands_were_not_executed_stands_behind_them(behind: dict[str, Any] | None, expected: list[str]) -> None:
    messages = [answer("make", "ls"), unexecuted("c0"), unexecuted("c1"), *([behind] if behind else [])]
    assert [outcome for _, outcome, _ in outcomes(run(*messages))] == expected


def test_without_a_terminal_only_the_submitting_command_has_a_result() -> None:
    asked = answer("make", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "ls")
    found = outcomes(run(asked, leaves("Submitted", "done")))
    assert [(command[:4], outcome) for command, outcome, _ in found] == [
        ("echo", "ok"),
        ("make", "unpaired"),
        ("ls", "unpaired"),
    ]
    assert [o for _, o, _ in outcomes(run(answer("sh submit.sh"), leaves("Submitted")))] == ["ok"]
    assert [o for _, o, _ in outcomes(run(answer("sh a", "sh b"), leaves("Submitted")))] == ["unpaired", "unpaired"]


def test_results_without_ids_are_those_of_the_answer_before() -> None:
    gave = {"role": "user", "content": "x", "extra": {"raw_output": "out", "returncode": 2, "exception_info": ""}}
    assert outcomes(run(answer("ls", ids=False), gave)) == [("ls", "error", 2)]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (
            "Commands not executed. The user rejected your commands with the following message: no",
            "UserRejection",
            "denied",
        ),
        ("Interrupted by user: be quick", "UserInterruption", "cancelled"),
        ("The user added a new task: more", "UserNewTask", "ok"),
        ("Switched to human mode.", "UserInterruption", "ok"),
        ("A message of an agent of one's own", "Reminder", "unpaired"),
    ],
)
def test_commands_cut_out_of_texts_that_did_not_run_have_no_result(text: str, kind: str, expected: str) -> None:
    said = {"role": "user", "content": text, "extra": {"interrupt_type": kind}}
    value = run(answer("ls", ids=False), said, answer("pwd", ids=False), leaves("Submitted", "done"))
    assert {command: outcome for command, outcome, _ in outcomes(value)}["ls"] == expected
    assert [e.text for e in told(value) if isinstance(e, UserText)][2:] == [text]


def test_results_may_come_in_any_order() -> None:
    def gave(call: str, code: int) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": call, "content": "x", "extra": {"raw_output": "", "returncode": code}}

    found = outcomes(run(answer("a", "b", "c"), gave("c2", 2), gave("c0", 0), gave("c1", 1)))
    assert found == [("c", "error", 2), ("a", "ok", 0), ("b", "error", 1)]


def test_of_several_commands_none_has_a_duration() -> None:
    def gave(call: str) -> dict[str, Any]:
        extra = {"raw_output": "", "returncode": 0, "timestamp": 1772443805.0, "exception_info": ""}
        return {"role": "tool", "tool_call_id": call, "content": "x", "extra": extra}

    def durations(value: dict[str, Any]) -> list[int | None]:
        return [event.duration_ms for event in chain(value) if isinstance(event, ToolResult)]

    assert durations(run(answer("ls"), gave("c0"))) == [5000]
    assert durations(run(answer("ls", "pwd"), gave("c0"), gave("c1"))) == [None, None]


def test_an_id_that_comes_again_is_another_call() -> None:
    def gave() -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": "c0", "content": "x", "extra": {"raw_output": "", "returncode": 0}}

    value = run(answer("ls"), gave(), answer("ls"), gave())
    assert len({call.call_id for call in calls(told(value))}) == 2
    assert [outcome for _, outcome, _ in outcomes(value)] == ["ok", "ok"]


def test_before_2_3_a_refused_answer_is_not_kept() -> None:
    def refusal(**extra: str) -> dict[str, Any]:
        return run({"role": "user", "content": "error", "extra": {"interrupt_type": "FormatError", **extra}})

    assert texts(told(refusal())) == [] and calls(told(refusal())) == []
    assert texts(told(refusal(model_response=""))) == []
    assert texts(told(refusal(model_response="No command."))) == ["No command."]
    assert texts(told(refusal(model_response="No command.", response="ModelResponse(…)"))) == ["No command."]


@pytest.mark.parametrize(
    ("text", "regex", "expected"),
    [
        ("```bash\nls\n```", None, ["ls"]),
        ("a\n```bash  \n\nls -l\n\n```\nb", FENCES[0], ["ls -l"]),
        ("```bash\nls\n```\n```bash\npwd\n```", None, ["ls", "pwd"]),
        ("```bashful\nls\n```", None, []),
        ("```bash ls```", None, []),
        ("```bash\nls", None, []),
        ("<bash_code>ls</bash_code>", TAGS, ["ls"]),
        ("<bash_code>ls</bash_code>", None, []),
        ("```bash\nls\n```", "(a+)+b", []),  # a pattern of a log is not run
    ],
)
def test_commands_in_texts(text: str, regex: str | None, expected: list[str]) -> None:
    assert commands_in(text, regex) == expected


@pytest.mark.parametrize(
    "hostile", ["x```bash\nx" * 20_000, "```bash" * 20_000, "```bash \n" * 20_000, "<bash_code>" * 20_000]
)
def test_hostile_texts_take_no_long_time(hostile: str) -> None:
    for regex in (None, TAGS):
        assert len(commands_in(hostile, regex)) <= 20_000


@pytest.mark.parametrize("name", FILES)
def test_laws(name: str) -> None:
    check_laws(DIALECT, document(fixture(name)))
    check_odd_shapes(PROVIDER, document(fixture(name)))


def faults_and_unknown(bend: Callable[[dict[str, Any]], None]) -> tuple[list[str], dict[str, int], list[str]]:
    value = fixture("run.traj.json")
    bend(value)
    batch = Decode(DIALECT, DecodeContext("log")).push(Batch("log", records=document(value), document=True))[0]
    return [fault.reason for fault in batch.faults], batch.unknown, texts(batch.events)


def test_a_broken_message_costs_itself_alone() -> None:
    def bend(value: dict[str, Any]) -> None:
        value["messages"][2] = 7
        value["messages"].append({"role": "oracle", "content": "?"})
        value["messages"][5]["extra"]["cost"] = "much"

    reasons, unknown, said = faults_and_unknown(bend)
    assert reasons == ["schema", "schema"]
    assert unknown == {"message/oracle": 1}
    assert said == ["It needs an edit.", "Fix and test.", "Away with the test?", "Then the slow one."]


def test_a_document_without_messages_is_counted() -> None:
    def bend(value: dict[str, Any]) -> None:
        del value["messages"]

    assert faults_and_unknown(bend) == ([], {"document": 1}, [])
