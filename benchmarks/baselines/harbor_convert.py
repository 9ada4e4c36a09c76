"""Harbor's own conversion of Claude sessions to ATIF, as it does it after a run; its start-up is part of it.

    python harbor_convert.py FOLDER OUT

Runs in the environment that `peers.py` makes of a Python 3.12. Every session of FOLDER (`<project>/<session>.jsonl`)
is laid into a folder of logs as Harbor keeps them, with its sub-agents' files, and becomes one JSON file in OUT.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the net for prices, and waits for the answer

from harbor.agents.installed.claude_code import ClaudeCode


def main(root: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for session in sorted(root.rglob("*.jsonl")):
        if session.parent.name == "subagents":
            continue
        with tempfile.TemporaryDirectory() as place:
            logs = Path(place)
            project = logs / "sessions/projects/p"
            project.mkdir(parents=True)
            (project / session.name).symlink_to(session)
            beside = session.with_suffix("")
            if beside.is_dir():
                shutil.copytree(beside, project / beside.name)  # it does not look behind links
            converted = ClaudeCode(logs_dir=logs).convert_trajectory(logs)
        if converted is not None:
            (out / f"{session.stem}.json").write_text(converted.model_dump_json(exclude_none=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
