"""The tables of tools: look-up, names of MCP tools, names in no table."""

import pytest

from agentv_stages.model.event import Kind
from agentv_stages.model.tools import CANONICAL, ToolTable, guess_kind, row, split_mcp
from agentv_stages.providers import NAMES
from support.tool_tables import TABLES

GUESSES: list[tuple[str, Kind]] = [
    # agtrace's expectations
    ("search_database", "search"),
    ("read_config", "read"),
    ("write_log", "write"),
    ("run_command", "execute"),
    ("update_plan", "plan"),
    # where its substrings went wrong
    ("mask_image", "other"),
    ("widget", "other"),
    ("target", "other"),
    ("thread", "other"),
    ("basket", "other"),
    ("executive", "other"),
    ("task", "plan"),
    # whole words, however they are joined
    ("askPerson", "ask"),
    ("ask-person", "ask"),
    ("getWidget", "read"),
    ("HTTPGet", "read"),
    ("fetch.page", "read"),
    ("semanticSearch2", "search"),
    ("TodoList", "plan"),
    ("patchFile", "write"),
    ("runTests", "execute"),
    ("", "other"),
    ("💥", "other"),
]


@pytest.mark.parametrize(("name", "kind"), GUESSES)
def test_names_in_no_table_get_their_kind_from_whole_words(name: str, kind: Kind) -> None:
    assert guess_kind(name) == kind


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("mcp__o3__o3-search", ("o3", "o3-search")),
        ("mcp__a__b__c", ("a", "b__c")),
        ("mcp__only", ("", "")),
        ("mcp__demo.lookup", ("demo", "lookup")),
        ("mcp_a_b", None),
        ("Read", None),
    ],
)
def test_mcp_names_are_split_at_the_first_separator(name: str, split: tuple[str, str] | None) -> None:
    assert split_mcp(name) == split


FORMS = [
    ("claude", "mcp__demo__lookup", "mcp__demo__lookup", "demo"),
    ("codex", "mcp__demo__lookup", "mcp__demo__lookup", "demo"),
    ("codex", "demo__lookup", "mcp__demo__lookup", "demo"),
    ("codex", "mcp__demo.lookup", "mcp__demo__lookup", "demo"),
    ("copilot", "demo-lookup", "mcp__demo__lookup", "demo"),
    ("copilot", "github-mcp-server-get_issue", "mcp__github-mcp-server__get_issue", "github-mcp-server"),
    ("gemini", "mcp_demo_lookup", "mcp__demo__lookup", "demo"),
    ("gemini", "demo__lookup", "mcp__demo__lookup", "demo"),
    ("kimi", "mcp__demo__lookup", "mcp__demo__lookup", "demo"),
    ("grok", "demo__lookup", "mcp__demo__lookup", "demo"),
    ("opencode", "demo_lookup", "mcp__demo__lookup", "demo"),
    ("vscode", "mcp_demo_lookup_all", "mcp__demo__lookup_all", "demo"),
    ("qwen", "mcp__demo__lookup", "mcp__demo__lookup", "demo"),
    ("claude", "mcp__only", "mcp__only", None),
]


@pytest.mark.parametrize(("provider", "native", "tool", "server"), FORMS)
def test_every_agents_mcp_names_become_one_form(provider: str, native: str, tool: str, server: str | None) -> None:
    found = TABLES[provider].resolve(native)
    assert (found.tool, found.origin, found.kind, found.server) == (tool, "mcp", "other", server)


@pytest.mark.parametrize("name", ["list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"])
def test_tools_that_codex_lists_under_its_own_name_are_no_servers(name: str) -> None:
    """Recorded in 0.171: the rollout has the bare name, the item of `exec --json` the server `codex`."""
    rollout, item = (TABLES["codex"].resolve(native) for native in (name, f"mcp__codex__{name}"))
    assert rollout[1:] == item[1:]
    assert (item.tool, item.origin, item.server) == (name, "system", None)


@pytest.mark.parametrize("provider", NAMES)
def test_every_row_is_whole(provider: str) -> None:
    table = TABLES[provider]
    assert len({(one.native, one.prefix) for one in table.rows}) == len(table.rows), "two rows for one name"
    for one in table.rows:
        assert one.source and one.native
        kind, edit = CANONICAL.get(one.tool, (one.kind, False))
        assert (one.kind, one.edit) == (kind, edit), one
        assert one.edit <= (one.kind == "write")
        assert not one.shell or one.tool == "Bash"
        assert one.prefix or one.rest_key is None
        assert table.resolve(one.native).tool == one.tool


@pytest.mark.parametrize("provider", NAMES)
def test_a_canonical_name_means_the_same_whoever_calls_it(provider: str) -> None:
    for name, (kind, edit) in CANONICAL.items():
        found = TABLES[provider].resolve(name).row
        assert found is not None
        assert (found.tool, found.kind, found.edit, found.shell) == (name, kind, edit, name == "Bash")
    found = TABLES[provider].resolve("apply_patch").row
    assert found is not None and found.edit and found.patch


@pytest.mark.parametrize("provider", NAMES)
@pytest.mark.parametrize("name", ["no_such_tool_at_all!", "", "x" * 100_000, "mcp__", "__", "-", "_"])
def test_unknown_names_pass(provider: str, name: str) -> None:
    found = TABLES[provider].resolve(name)
    assert found.origin == "mcp" or found.tool == name


def test_prefixes_are_tried_in_order_after_whole_names() -> None:
    table = ToolTable(
        rows=(
            row("Viewing all", "LS", "test"),
            row("Viewing ", "Read", "test", prefix=True, rest_key="file_path"),
        )
    )
    assert table.resolve("Viewing all").tool == "LS"
    assert table.resolve("Viewing /a b.txt").rest == "/a b.txt"
    assert table.resolve("viewing x").row is None


def test_codex_keeps_the_mcp_prefix_of_its_sdk_as_a_skill() -> None:
    found = TABLES["codex"].resolve("mcp:server/name")
    assert (found.tool, found.rest, found.origin) == ("Skill", "server/name", "system")


@pytest.mark.parametrize("native", ["wait", "wait_agent", "collaboration.wait_agent", "multi_agent_v1.wait_agent"])
def test_codex_tools_for_sub_agents_bear_one_name_live_and_on_disk(native: str) -> None:
    found = TABLES["codex"].resolve(native)
    assert (found.tool, found.kind) == ("wait_agent", "plan")
