"""The generated module of all providers' roots."""

from agentv_stages.providers import NAMES, get_provider
from agentv_stages.providers.log_roots import LOG_ROOTS


def test_it_has_the_roots_of_every_provider() -> None:
    roots = {name: get_provider(name).roots for name in NAMES}
    assert {name: LOG_ROOTS.get(name, ()) for name in NAMES} == roots, "run: make docs"
