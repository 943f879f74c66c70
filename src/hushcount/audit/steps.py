"""The steps of an audit by name: which module looks at a mechanism how, and where the broken twins are."""

from __future__ import annotations

from hushcount.audit.blackbox.step import ALARM, black_box
from hushcount.audit.exact.step import exact
from hushcount.audit.finding import Finding, Step
from hushcount.audit.replay.step import replay
from hushcount.audit.subject import subjects_of
from hushcount.audit.twins import TWINS
from hushcount.audit.twins.ledger import LedgerTwin
from hushcount.audit.twins.system import SYSTEM_TWINS, SystemTwin
from hushcount.audit.twins.twin import Twin
from hushcount.mechanisms.table import find

_EVERY_TWIN: tuple[Twin | LedgerTwin | SystemTwin, ...] = (*TWINS, *SYSTEM_TWINS)
_TWINS = {twin.name: twin for twin in _EVERY_TWIN}
# All black-box trials of one run together.
BLACK_BOX_FALSE_ALARM = ALARM


def attack_mechanism(name: str, step: Step, *, quick: bool) -> tuple[Finding, ...]:
    """What one step finds on one mechanism of the table, in each variant that the step looks at."""
    if step == "black box":
        return (black_box(name, quick=quick),)
    subjects = subjects_of(find(name), quick=quick)
    if step == "exact":
        return tuple(exact(subject, quick=quick) for subject in subjects)
    # The first variant has the most items for each person; what the others would show is in their first neighbours.
    return tuple(replay(subject, quick=quick, brief=quick and place > 0) for place, subject in enumerate(subjects))


def twin_names() -> tuple[str, ...]:
    """Every broken twin, of mechanisms and of the product around them."""
    return tuple(_TWINS)


def attack_twin(name: str, *, quick: bool) -> tuple[str, Finding | None]:
    """What is wrong with a twin, and the first finding that does not hold; None if the twin went unseen."""
    twin = _TWINS[name]
    return f"{twin.erratum}: {twin.what}", twin.attack(quick=quick)
