"""Finds the files of a Qwen session's sub-agents: `subagents/<session id>/agent-<id>.jsonl` beside its `chats`.

Their calls, texts and tokens are already in the session's own telemetry; only the outputs of their tools are taken from
these files, by call id. Read by itself, such a file gives everything.
Source: Qwen Code 0.24.4.
"""

from agentv_stages.model.provider import Companion, DecodeContext, Folder


def companions(path: str, folder: Folder) -> list[Companion]:
    """The sub-agents' files, in the order of their names."""
    place, _, name = path.replace("\\", "/").rpartition("/")
    project, _, chats = place.rpartition("/")
    session, _, suffix = name.rpartition(".")
    if chats != "chats" or suffix != "jsonl":
        return []
    base = f"{project}/" if project else ""
    out: list[Companion] = []
    for file in folder.glob(f"{base}subagents/{session}/agent-*.jsonl"):
        agent = file.replace("\\", "/").rpartition("/")[2].removeprefix("agent-").removesuffix(".jsonl")
        out.append(Companion(file, DecodeContext(file, f"subagent:{agent}", None, session)))
    return out
