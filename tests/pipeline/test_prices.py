"""Estimated costs: list prices, never invented, beside what the agent told."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentv_stages.figures.result import Result
from agentv_stages.model.tokens import TokenTotals
from agentv_stream import import_sessions, summarize, summarize_many
from agentv_stream.costs.prices import cost_text, estimate_cost, price_table_date
from support.consuming import consume
from support.made_sessions import make_folder

pytest.importorskip("genai_prices", reason="the prices extra is not installed")
MODEL = "claude-sonnet-4-5-20250929"
TOKENS = TokenTotals(1_000_000, 500_000, 100_000, 0, 10_000, None)
TWICE = TokenTotals(2_000_000, 1_000_000, 200_000, 0, 20_000, None)


def _result(tmp_path: Path) -> Result:
    result = summarize(make_folder(tmp_path, 1)[0])
    result.session.model = MODEL
    result.tokens, result.tokens_by_model, result.model_calls = TOKENS, {MODEL: TOKENS}, 100
    return result


def test_the_price_is_that_of_the_list(tmp_path: Path) -> None:
    result = _result(tmp_path)
    estimate_cost(result)
    # Per million: 3 in, 0.30 read from a cache, 3.75 written to it, 15 out.
    expected = 0.4 * 3 + 0.5 * 0.30 + 0.1 * 3.75 + 0.01 * 15
    assert result.estimated_cost_usd == pytest.approx(expected)
    assert result.price_table_date == price_table_date()
    assert str(result.price_table_date)[:2] == "20"


def test_what_the_agent_told_is_left_alone_and_the_difference_shown(tmp_path: Path) -> None:
    result = _result(tmp_path)
    result.cost_usd = 1.0
    estimate_cost(result)
    assert result.cost_usd == 1.0
    assert cost_text(result) == "$1.0000 (estimated $1.8750, +88 %)"
    result.cost_usd = 1.876
    assert cost_text(result) == "$1.8760 (estimated $1.8750)"  # not "-0 %"
    result.cost_usd = None
    assert cost_text(result) == "$1.8750 estimated"


@pytest.mark.parametrize("model", ["mock-model", "", "<synthetic>", "claude-from-tomorrow-99-x"])
def test_an_unknown_model_has_no_price(tmp_path: Path, model: str) -> None:
    result = _result(tmp_path)
    result.session.model, result.tokens_by_model = model, {model: TOKENS}
    estimate_cost(result)
    assert result.estimated_cost_usd is None
    assert json.loads(result.to_json())["estimated_cost_usd"] is None


def test_a_name_that_is_shown_to_people_has_no_price(tmp_path: Path) -> None:
    result = _result(tmp_path)
    result.session.provider, result.session.dialect = "cursor", "cursor-stream"
    estimate_cost(result)
    assert result.estimated_cost_usd is None


def test_one_unknown_model_of_two_makes_the_whole_unknown(tmp_path: Path) -> None:
    result = _result(tmp_path)
    result.tokens_by_model["mock-model"] = TOKENS
    result.tokens = TWICE
    estimate_cost(result)
    assert result.estimated_cost_usd is None


def test_tokens_of_which_no_model_is_told_have_no_price_beside_several_models(tmp_path: Path) -> None:
    result = _result(tmp_path)
    result.tokens_by_model["claude-3-5-haiku-20241022"] = TOKENS
    result.tokens = TWICE
    estimate_cost(result)
    assert result.estimated_cost_usd == pytest.approx(1.875 + 0.50)
    result.tokens = replace(TWICE, input=3_000_000)
    estimate_cost(result)
    assert result.estimated_cost_usd is None


def test_tokens_that_the_log_does_not_say_have_no_price(tmp_path: Path) -> None:
    result = _result(tmp_path)
    result.tokens = replace(TOKENS, output=None)
    estimate_cost(result)
    assert result.estimated_cost_usd is None


@pytest.mark.parametrize("name", [f"anthropic/{MODEL}", f"us.anthropic.{MODEL}-v1:0", "claude-sonnet-4-5@20250929"])
def test_names_of_clouds_are_the_same_model(tmp_path: Path, name: str) -> None:
    result = _result(tmp_path)
    result.tokens_by_model = {name: TOKENS}
    estimate_cost(result)
    assert result.estimated_cost_usd == pytest.approx(1.875)


def test_input_that_was_all_in_the_cache_has_a_price_however_many_calls_it_took(tmp_path: Path) -> None:
    """The means of its parts, rounded each, were more than that of the input, and the estimate was null."""
    result = _result(tmp_path)
    tokens = TokenTotals(4220, 316, 3904, 0, 636, None)
    result.tokens, result.tokens_by_model = tokens, {MODEL: tokens}
    expected = (316 * 0.30 + 3904 * 3.75 + 636 * 15) / 1e6
    for calls in range(1, 300):
        result.model_calls = calls
        estimate_cost(result)
        assert result.estimated_cost_usd == pytest.approx(expected, rel=1e-12)


def test_every_way_in_takes_prices(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 3)
    told = [result.estimated_cost_usd for result in summarize_many(paths, engine="serial", prices=True)]
    assert all(isinstance(cost, float) for cost in told)
    outcome = import_sessions(paths, jsonl=tmp_path / "s.jsonl", engine="serial", prices=True)
    assert outcome.summary.total().estimated == 3
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_bytes().splitlines()]
    assert {row["estimated_cost_usd"] for row in rows} == set(told)
    stats = tmp_path / "stats.json"
    ran = consume(tmp_path, paths[0], "--prices", "--out", tmp_path / "t", "--stats", stats)
    assert ran.code == 0, ran.err
    assert json.loads(stats.read_bytes())["estimated_cost_usd"] == told[0]
    assert "estimated" in ran.err
