"""Rates per token: the same prices as genai-prices computes, kept between runs, because its import takes long."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentv_stages.figures.dated import Span
from agentv_stages.figures.result import Result
from agentv_stages.model.tokens import Tokens, token_totals
from agentv_stream import summarize, summarize_groups
from agentv_stream.costs.prices import estimate_cost
from agentv_stream.costs.rates import Rates, rates_of
from support.consuming import finished_text
from support.decoding import FIXTURES
from support.made_sessions import make_folder

pytest.importorskip("genai_prices", reason="the prices extra is not installed")
EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = (
    "claude-sonnet-4-5-20250929",
    "claude-3-5-haiku-20241022",
    "gpt-5",
    "gemini-2.5-pro",
    "anthropic/claude-opus-4-1",
)
SIZES = (
    Tokens(1_000, 300, 200, 50, 70, 10),
    Tokens(40_000_000, 5_000_000, 1_000_000, 0, 900_000, 0),  # of one request: above every tier
    Tokens(1, 0, 0, 0, 1),
    Tokens(0, 0, 0, 0, 5),
)


def result_of(folder: Path, model: str, tokens: Tokens, calls: int) -> Result:
    result = summarize(make_folder(folder, 1)[0])
    result.session.model = model
    result.tokens, result.model_calls = token_totals(tokens), calls
    result.tokens_by_model = {model: result.tokens}
    return result


@pytest.mark.parametrize("model", MODELS)
def test_a_rate_gives_the_price_of_the_table(tmp_path: Path, model: str) -> None:
    rates = Rates()
    for n, tokens in enumerate(SIZES):
        for calls in (1, 100):
            result = result_of(tmp_path / f"{n}-{calls}", model, tokens, calls)
            estimate_cost(result)
            assert isinstance(result.estimated_cost_usd, float)
            assert rates.of_result(result) == pytest.approx(result.estimated_cost_usd, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("model", ["mock-model", "", "<synthetic>", "\x1b[2J", "claude-from-tomorrow-99-x"])
def test_an_unknown_model_has_no_rate(tmp_path: Path, model: str) -> None:
    assert [tiers.tiers for tiers in rates_of(model)] == [[]]
    assert Rates().of_result(result_of(tmp_path, model, SIZES[0], 1)) is None


def test_impossible_tokens_have_no_price() -> None:
    rates = Rates()
    for tokens in (Tokens(10, 30, 0, 0, 1), Tokens(10, 0, 5, 9, 1), Tokens(10**16, 0, 0, 0, 1)):
        assert rates._cost(Span(None, MODELS[0], tokens=tokens)) is None  # pyright: ignore[reportPrivateUsage] - what it gives for nonsense


def test_sums_of_spans_are_the_estimate_of_the_session(tmp_path: Path) -> None:
    """All of a session in one quarter of an hour: the two ways of estimating agree."""
    (path,) = make_folder(tmp_path, 1)
    result = summarize(path)
    estimate_cost(result)
    total = summarize_groups([path], engine="serial", prices=True, by=("hour", "model")).summary.total()
    assert isinstance(result.estimated_cost_usd, float)
    assert total.estimated_pico / 1e12 == pytest.approx(result.estimated_cost_usd, rel=1e-9)


def call(folder: Path, code: str) -> str:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_table_is_loaded_once(tmp_path: Path) -> None:
    """Rates are kept with the figures; without a cache those that are kept are used, and nothing is written."""
    make_folder(tmp_path / "logs", 2)
    code = (
        "import sys; from agentv_stream import summarize_groups;"
        f"total = summarize_groups([{str(tmp_path / 'logs')!r}], prices=None, cache={{}}).summary.total();"
        "print(total.estimated_pico > 0, 'genai_prices' in sys.modules)"
    )
    assert call(tmp_path, code.format(False)).split() == ["True", "True"]
    assert not (tmp_path / "cache").exists()
    found = [call(tmp_path, code.format(cache)).split() for cache in (True, True, False)]
    assert found == [["True", "True"], ["True", "False"], ["True", "False"]]


def test_show_marks_an_estimate() -> None:
    def shown(*words: str) -> str:
        return finished_text("show", *words, "--width", "200").stdout

    gemini, claude = str(EXAMPLES / "gemini.jsonl"), str(EXAMPLES / "claude.jsonl")
    assert "cost ~$0.0343 (estimated at list prices, 20" in shown(gemini)
    assert "cost $0.0930," in shown(claude)
    assert "$" not in shown(gemini, "--no-prices").splitlines()[-1]


def test_show_marks_a_context_window_that_the_log_does_not_state() -> None:
    def contexts(*words: str | Path) -> list[str]:
        text = finished_text("show", *words, "--width", "200").stdout
        return re.findall(r"context [0-9,]+(.*)", text)

    grok, claude = FIXTURES / "grok" / "messages.jsonl", EXAMPLES / "claude.jsonl"
    assert all(re.fullmatch(r" = ~\d+ % of \d+,000", share) for share in contexts(grok))
    assert contexts(grok) and set(contexts(grok, "--no-prices")) == {""}
    assert all(re.fullmatch(r" = \d+ % of 200,000", share) for share in contexts(claude))


@pytest.mark.parametrize("cache", ["--no-cache", "--cache"])  # read as a log, or from the kept figures
def test_watch_compares_the_context_with_the_window_of_the_price_table(tmp_path: Path, cache: str) -> None:
    shutil.copy(FIXTURES / "grok" / "messages.jsonl", tmp_path / "messages.jsonl")
    os.utime(tmp_path / "messages.jsonl", (1_767_225_600, 1_767_225_600))
    words = ("watch", str(tmp_path), "--json", "--once", "--since", "2020-01-01", cache)
    row = json.loads(finished_text(*words).stdout)
    assert row["context"] is None and 0 < row["estimated_context"] < 1
    assert json.loads(finished_text(*words, "--no-prices").stdout)["estimated_context"] is None
