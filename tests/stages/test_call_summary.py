"""What a call is about, in one phrase."""

import pytest

from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import AnyEvent
from support.events import call


@pytest.mark.parametrize(
    ("made", "target"),
    [
        (call(0, "t", command="ls -la", files=("x",)), "ls -la"),
        (call(0, "t", files=("a.py",)), "a.py"),
        (call(0, "t", files=("a.py", "b.py", "c.py")), "a.py and 2 more"),
        (call(0, "t", given={"q": "words"}), '{"q":"words"}'),
        (call(0, "t", given={"pattern": "slug", "path": "src"}, kind="search"), "slug"),
        (call(0, "t", given={"todos": [{"content": "look"}, {"content": "mend"}]}, kind="plan"), "look (+1 more)"),
        (call(0, "t", given=["not", "an", "object"], kind="plan"), '["not","an","object"]'),
        (call(0, "t"), ""),
    ],
)
def test_a_call_is_about_its_command_its_files_or_its_arguments(made: AnyEvent, target: str) -> None:
    assert target_of(made) == target  # type: ignore[arg-type]  # a ToolCall, each of them
