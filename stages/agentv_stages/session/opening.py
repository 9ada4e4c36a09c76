"""The opening of a session: the first records of a log go in; their events come out once its dialect is known.

For a look at a session that is not read as a whole. `SessionChain` continues where all of it is.
"""

from collections.abc import Callable, Iterator

from agentv_stages.chain.decode import Decode
from agentv_stages.model.batch import Batch
from agentv_stages.model.provider import DecodeContext, Dialect, Provider
from agentv_stages.session.detect import Detector


class Opening:
    """`context` gives the facts about the log that the provider's decoder needs. `only` is the provider, if known."""

    def __init__(self, context: Callable[[Provider], DecodeContext], only: Provider | None = None) -> None:
        self._context = context
        self._detector = Detector(only)
        self._decode: Decode | None = None

    @property
    def named(self) -> tuple[Provider, Dialect] | None:
        """Provider and dialect; None as long as they are not known."""
        provider, dialect = self._detector.provider, self._detector.dialect
        return None if self._decode is None or provider is None or dialect is None else (provider, dialect)

    def push(self, batch: Batch) -> Iterator[Batch]:
        """Takes the next records; yields decoded batches, once the dialect is known: first those that were held."""
        if self._decode is not None:
            yield from self._decode.push(batch)
        elif self._detector.push(batch):
            yield from self._begin()

    def finish(self, whole: bool) -> Iterator[Batch]:
        """Decides at the end of the input; `whole`: it is the end of the log, and events that a decoder held back come.

        Raises: UnknownFormat.
        """
        if self._decode is None:
            yield from self._begin()
        if whole and self._decode is not None:
            yield from self._decode.flush()

    def _begin(self) -> Iterator[Batch]:
        provider, dialect = self._detector.finish()
        self._decode = Decode(dialect, self._context(provider))
        held, self._detector.held = self._detector.held, []
        for batch in held:
            yield from self._decode.push(batch)
