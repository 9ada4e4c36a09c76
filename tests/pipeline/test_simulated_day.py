"""Hours of following in a minute: the short form of `tests/soak/day.py`."""

import sys
from pathlib import Path

import pytest

from agentv_stream.outputs.durable import SYNC
from support.datasets import BatchHere
from support.simulated_day import SimulatedDay

pytest.importorskip("pyarrow", reason="the Parquet extra is not installed")


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
def test_an_hour_with_rotations_a_full_disk_and_restarts(tmp_path: Path) -> None:
    token = SYNC.set(False)
    try:
        day = SimulatedDay(tmp_path, logs=8, hours=1, restarts=6, start=BatchHere)
        day.run()
        assert day.wrong(most_growth_kb=1 << 30) == []  # memory is measured in the long form
        assert day.batches > 3
        assert day.exact
        assert any(day.restarts.values())
        assert any(log.rotated for log in day.logs)
    finally:
        SYNC.reset(token)
