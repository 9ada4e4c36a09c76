"""A cluster of two workers, one of which is killed on the way, gives what one process gives."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import import_sessions
from agentv_stream.bulk.unit import Report, Task
from agentv_stream.errors import SourceError, UsageError
from support.made_sessions import make_folder, tree

distributed: Any = pytest.importorskip("distributed", reason="the Dask extra is not installed")
pytest.importorskip("pyarrow", reason="the Parquet extra is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # the cluster warns of the loss that the test makes


@pytest.fixture
def cluster() -> Iterator[Any]:
    made = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )
    with made:
        yield made


def test_a_cluster_that_loses_a_worker_gives_the_same(tmp_path: Path, cluster: Any) -> None:
    make_folder(tmp_path / "in", 24)

    def run(out: Path, **options: Any) -> int:
        return import_sessions([tmp_path / "in"], transcripts=out / "t", parquet=out / "d", workers=2, **options).done

    killed: list[int] = []

    def kill(report: Report, task: Task) -> None:
        if not killed:
            with distributed.Client(cluster) as client:
                pids = client.run(os.getpid)
            killed.append(min(pids.values()))
            os.kill(killed[0], signal.SIGKILL)

    engine = "dask://" + cluster.scheduler_address.removeprefix("tcp://")
    assert run(tmp_path / "cluster", engine=engine, on_report=kill) == 24
    assert killed
    assert run(tmp_path / "alone", engine="serial") == 24
    assert tree(tmp_path / "cluster") == tree(tmp_path / "alone")


def test_a_scheduler_that_goes_is_one_error_without_tracebacks(
    tmp_path: Path, cluster: Any, caplog: pytest.LogCaptureFixture
) -> None:
    make_folder(tmp_path / "in", 60)
    address = cluster.scheduler_address.removeprefix("tcp://")
    with pytest.raises(SourceError, match=f"the Dask scheduler at {address} has gone; --resume continues from here"):
        import_sessions(
            [tmp_path / "in"],
            transcripts=tmp_path / "out",
            engine=f"dask://{address}",
            workers=2,
            on_report=lambda report, task: cluster.close(),
        )
    assert not [record for record in caplog.records if record.name.startswith(("distributed.client", "tornado"))]


def test_a_cluster_that_is_not_there_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path / "in", 2)

    def refused(*_: Any, **__: Any) -> None:
        raise OSError("connection refused")

    monkeypatch.setattr(distributed, "Client", refused)
    outputs: tuple[dict[str, Any], ...] = ({"transcripts": tmp_path / "out"}, {"jsonl": tmp_path / "out" / "all.jsonl"})
    for named in outputs:
        with pytest.raises(UsageError, match=r"no Dask scheduler answers at 127\.0\.0\.1:9"):
            import_sessions([tmp_path / "in"], engine="dask://127.0.0.1:9", **named)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("engine", "workers"), [("threads", 2), ("thread", 0)])
def test_an_engine_that_cannot_be_leaves_nothing_behind(tmp_path: Path, engine: str, workers: int) -> None:
    make_folder(tmp_path / "in", 2)
    with pytest.raises(UsageError):
        import_sessions([tmp_path / "in"], transcripts=tmp_path / "out", engine=engine, workers=workers)
    assert not (tmp_path / "out").exists()
