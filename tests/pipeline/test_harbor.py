"""Harbor's own models accept the ATIF documents of every agent's session.

Needs a Python of 3.12 or newer with harbor: AGENTV_STREAM_HARBOR names it.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from agentv_stream import import_sessions
from support.fixture_logs import LOGS

MODELS = """
import json, sys
from harbor.models.trajectories import Trajectory
for path in sys.argv[1:]:
    Trajectory.model_validate(json.loads(open(path, "rb").read()))
print(len(sys.argv) - 1)
"""


@pytest.fixture
def harbor() -> str:
    python = os.environ.get("AGENTV_STREAM_HARBOR")
    if python is None:
        pytest.skip("needs AGENTV_STREAM_HARBOR to name a Python that has harbor")
    return python


def judged(python: str, paths: list[Path]) -> subprocess.CompletedProcess[str]:
    command = [python, "-c", MODELS, *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_harbor_reads_the_documents_of_every_agent(harbor: str, tmp_path: Path) -> None:
    import_sessions(LOGS, trajectories=tmp_path / "atif", engine="serial")
    documents = sorted((tmp_path / "atif").glob("*.json"))
    assert len(documents) > 30
    assert {json.loads(path.read_bytes())["schema_version"] for path in documents} == {"ATIF-v1.8"}
    ran = judged(harbor, documents)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"{len(documents)}\n"
    wrong = tmp_path / "wrong.json"
    wrong.write_bytes(documents[0].read_bytes().replace(b'"step_id":1', b'"step_id":7', 1))
    assert judged(harbor, [wrong]).returncode != 0
