"""Where a session's outputs go: never into another session's, nor into somebody else's file."""

from pathlib import Path
from typing import TYPE_CHECKING

from agentv_stages.result import Observer
from agentv_stages.sinks.transcript import Identity
from agentv_stream.following.follow_outputs import SUFFIXES, FollowOutputs
from agentv_stream.following.follow_plan import KEPT, left_by_crash, place_of
from agentv_stream.following.followed import Followed
from agentv_stream.outputs.naming import TRANSCRIPT

if TYPE_CHECKING:
    from agentv_stream.following.register import Register


def make_outputs(register: "Register", session: Followed) -> FollowOutputs | None:
    """The outputs of a session, None if no files are written."""
    if not register.plan.files:
        return None

    def ours(path: Path) -> bool:
        return claim(path, False) and not taken(path)

    def place(observer: Observer, named_ms: int | None) -> tuple[Path, str, Identity]:
        folder, name, identity = place_of(observer, session.main, register.plan.settings, named_ms, ours)
        for left in left_by_crash(folder, name, identity):
            if ours(left) and register.store is not None and register.store.claims.is_made(left):
                register.store.claims.unmade(left)
                register.say("what a crash left under another start is made again", path=str(left))
                for suffix in SUFFIXES:
                    left.with_name(left.name.removesuffix(TRANSCRIPT) + suffix).unlink(missing_ok=True)
        return folder, name, identity

    def taken(path: Path) -> bool:
        if register.taken.get(str(path), session.number) not in (session.number, KEPT):
            return True
        others = (s.outputs.state for s in register.hot.values() if s is not session and s.outputs is not None)
        return any(state is not None and state.path(TRANSCRIPT) == path for state in others)

    def claim(path: Path, take: bool) -> bool:
        return register.store is not None and register.store.claims.claim(str(path), take)

    def made(path: Path, there: bool) -> None:
        if register.store is not None:
            register.store.claims.made(path) if there else register.store.claims.unmade(path)

    def hold(folder: Path) -> None:
        if register.plan.folders is not None:
            register.plan.folders.hold(folder.absolute())

    return FollowOutputs(place, register.plan.settings.stream_log, taken, claim, made, hold)
