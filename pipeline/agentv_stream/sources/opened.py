"""The dialect of an input, or the error that says why it has none."""

from collections.abc import Iterable

from agentv_stages.chain.lines import DEFAULT_CAP
from agentv_stages.model.batch import Batch
from agentv_stages.model.provider import Dialect, Provider
from agentv_stages.session.detect import Detector, NoRecords, UnknownFormat
from agentv_stream.errors import EmptyInput, NotALog


def opened(
    detector: Detector, file: str, last: Iterable[Batch] = (), cap: int = DEFAULT_CAP
) -> tuple[Provider, Dialect]:
    """Decides after the first batches; `last` is the rest in the line reader, `cap` the longest record in bytes.

    Raises: NotALog, EmptyInput.
    """
    try:
        return detector.finish(last)
    except NoRecords as error:
        if error.over_cap:
            raise NotALog(f"{file}: no record is under the cap of {cap} bytes") from None
        raise EmptyInput(f"{file}: the input is empty") from None
    except UnknownFormat as error:
        raise NotALog(f"{file}: {error}") from error
