"""`parse_stream_json`: bobbin's own cases with the right values, and whatever else an agent may print."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentv_stream import parse_stream_json


def message(*blocks: Any, own: str | None = None, line: int = 0) -> str:
    value = {"role": "assistant", "content": [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]}
    if own:
        value["id"] = own
    return json.dumps({"type": "assistant", "message": value})


def use(name: str, **given_: Any) -> dict[str, Any]:
    use.count += 1  # type: ignore[attr-defined]  # a number for each call
    return {"type": "tool_use", "id": f"t{use.count}", "name": name, "input": given_}  # type: ignore[attr-defined]  # as above


use.count = 0  # type: ignore[attr-defined]  # as above
RESULT = {"type": "result", "subtype": "success", "result": "done", "total_cost_usd": 0.12}


def parse(*lines: str) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    return parse_stream_json("\n".join(lines))


def test_nothing_gives_nothing() -> None:
    for text in ("", "\n", "  \n\n"):
        result, summary = parse_stream_json(text)
        assert result is None
        assert (summary["by_tool"], summary["tool_sequence"]) == ({}, [])
        assert (summary["first_edit_turn"], summary["bobbin_commands"]) == (None, [])
        assert summary["total_tool_calls"] == 0


def test_the_result_line_is_given_as_it_stands() -> None:
    result, _ = parse(json.dumps(RESULT))
    assert result == RESULT


@pytest.mark.parametrize("fields", [{}, {"tools": ["Edit"]}, {"tools": ["Edit"], "model": "m", "cwd": "/w"}])
def test_an_init_with_few_fields_changes_nothing(fields: dict[str, Any]) -> None:
    init = json.dumps({"type": "system", "subtype": "init", **fields})
    result, summary = parse(init, message(use("Edit")), json.dumps(RESULT))
    assert (result, summary["by_tool"]) == (RESULT, {"Edit": 1})


def test_what_could_be_anybodys_is_claudes() -> None:
    end = {"type": "result", "subtype": "success", "result": "x", "is_error": False}
    result, summary = parse('{"type":"tool_call","toolId":"x"}', message(use("Edit")), json.dumps(end))
    assert (result, summary["by_tool"]) == (end, {"Edit": 1})


def test_tools_are_counted_and_in_order() -> None:
    first, second = message(use("Read"), use("Edit")), message(use("Read"), use("Bash", command="ls"))
    result, summary = parse(first, second, json.dumps(RESULT))
    assert summary["by_tool"] == {"Read": 2, "Edit": 1, "Bash": 1}
    assert summary["tool_sequence"] == ["Read", "Edit", "Read", "Bash"]
    assert summary["total_tool_calls"] == 4
    assert result == RESULT


EDITS = [
    ((("Read",), ("Bash",), ("Edit",)), 3, 2),
    ((("Write",),), 1, 0),
    ((("Read", "Bash"),), None, None),
    ((("Read", "Edit"),), 1, 0),
]


@pytest.mark.parametrize(("turns", "turn", "line"), EDITS)
def test_the_first_edit_has_its_turn_from_one_and_its_line_from_zero(
    turns: tuple[tuple[str, ...], ...], turn: int | None, line: int | None
) -> None:
    _, summary = parse(*(message(*(use(name) for name in names)) for names in turns))
    assert (summary["first_edit_turn"], summary["first_edit_turn_lines"]) == (turn, line)


def test_lines_of_one_answer_are_one_turn() -> None:
    _, summary = parse(message("look", own="m1"), message(use("Read"), own="m1"), message(use("Edit"), own="m2"))
    assert summary["turns"] == 2
    assert (summary["first_edit_turn"], summary["first_edit_turn_lines"]) == (2, 2)


def test_runs_of_bobbin_are_listed_and_mentions_are_not() -> None:
    runs = ["bobbin search foo", "bobbin index --incremental"]
    commands = [runs[0], "git status", runs[1], "cat docs/bobbin/readme", "echo bobbin"]
    _, summary = parse(message(*(use("Bash", command=c) for c in commands)))
    assert [row["command"] for row in summary["bobbin_commands"]] == runs
    assert [row["turn"] for row in summary["bobbin_commands"]] == [1, 1]


def test_other_blocks_and_lines_do_not_count() -> None:
    init = json.dumps({"type": "system", "subtype": "init", "session_id": "s", "tools": []})
    assert parse(message("text", use("Read")))[1]["by_tool"] == {"Read": 1}
    assert parse(init, message(use("Read")))[1]["by_tool"] == {"Read": 1}


def test_lines_that_are_no_json_are_passed_over() -> None:
    _, summary = parse("not json at all", message(use("Read")), "{broken", json.dumps(RESULT))
    assert summary["by_tool"] == {"Read": 1}


def test_without_a_result_line_the_counts_stay() -> None:
    result, summary = parse(message(use("Read")))
    assert (result, summary["total_tool_calls"]) == (None, 1)


def test_one_object_without_a_type_is_the_result() -> None:
    assert parse('{"result":"x","total_cost_usd":0.5}')[0] == {"result": "x", "total_cost_usd": 0.5}
    assert parse('{"result":"x","total_cost_usd":0.5,"num_turns":3,"session_id":"s"}')[0] is not None


def test_text_that_is_no_json_is_no_result() -> None:
    assert parse("not valid json {{{")[0] is None


def test_the_last_of_several_results_holds() -> None:
    result, _ = parse(json.dumps(RESULT), json.dumps({**RESULT, "result": "again", "total_cost_usd": 0.3}))
    assert result is not None
    assert result["total_cost_usd"] == 0.3


def test_bytes_are_taken_too() -> None:
    assert parse_stream_json(message(use("Read")).encode() + b"\n\xff\xfe")[1]["by_tool"] == {"Read": 1}


@pytest.mark.parametrize("text", [b"", b"no stream", json.dumps(RESULT).encode()])
def test_bytes_of_any_kind_give_the_same(text: bytes) -> None:
    """A view of bytes that are no stream was an AttributeError, one of a stream was not."""
    assert parse_stream_json(memoryview(text)) == parse_stream_json(bytearray(text)) == parse_stream_json(text)


def test_what_is_no_output_is_refused() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="NoneType"):
        parse_stream_json(nothing)


def test_lone_surrogates_in_the_text_are_no_crash() -> None:
    assert parse_stream_json(message("x\ud800", use("Read")) + "\n\ud800\n")[1]["by_tool"] == {"Read": 1}


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    result, summary = parse_stream_json(text)
    assert result is None or isinstance(result, dict)
    assert summary["total_tool_calls"] == 0


@pytest.mark.parametrize("text", ["[" * 100_000, '{"type":"result","a":' + "[" * 200_000 + "]" * 200_000 + "}"])
def test_what_is_nested_too_deeply_is_no_result(text: str) -> None:
    assert parse_stream_json(text)[0] is None
