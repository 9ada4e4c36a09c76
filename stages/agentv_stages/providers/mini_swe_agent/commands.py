"""Finds the commands that 1.x cuts out of an answer's text. In: a text. Out: its commands. Linear in the length.

The agent's regular expressions are replaced by plain searches, because on hostile text their time is quadratic. A
user's own expression is not run, because it comes from the log.
Source: mini-swe-agent 1.1.0 to 1.17.5, `parse_action`, and `action_regex` of its configurations.
"""

from collections.abc import Iterator

_FENCE, _END_OF_FENCE = "```bash", "\n```"
_TAG, _END_OF_TAG = "<bash_code>", "</bash_code>"
FENCES = (r"```bash\s*\n(.*?)\n```", r"```bash\n(.*?)\n```")
TAGS = "<bash_code>(.*?)</bash_code>"


def commands_in(text: str, action_regex: str | None) -> list[str]:
    """Every command in an answer, as its configuration defines them; the agent only runs one that is alone."""
    if action_regex is None or action_regex in FENCES:
        found = _fenced(text)
    elif action_regex == TAGS:
        found = _tagged(text)
    else:
        return []
    return [command.strip() for command in found]


def _fenced(text: str) -> Iterator[str]:
    at = text.find(_FENCE)
    while at >= 0:
        begin = text.find("\n", at)
        if begin < 0:
            return
        if text[at + len(_FENCE) : begin].strip():  # "```bashful"
            at = text.find(_FENCE, at + len(_FENCE))
            continue
        end = text.find(_END_OF_FENCE, begin + 1)
        if end < 0:
            return
        yield text[begin + 1 : end]
        at = text.find(_FENCE, end + len(_END_OF_FENCE))


def _tagged(text: str) -> Iterator[str]:
    at = text.find(_TAG)
    while at >= 0:
        end = text.find(_END_OF_TAG, at)
        if end < 0:
            return
        yield text[at + len(_TAG) : end]
        at = text.find(_TAG, end)
