"""Broken twins: mechanisms with one mistake each, kept so that everybody can see the auditor fail on what is broken.

There is at least one for every P0 and P1 erratum and for each rule that a mechanism can break; those about the product
around the mechanisms, erratum 9 among them, are in `system`. Nothing but the auditor imports any of them. Two errata
have a harmless half and no twin for it: an epsilon step of sqrt(2 epsilon) that is charged as such is only a bad
schedule, since the filter stops it (13), and the same bounding salt in each round of DP-SIPS leaves every round's
sensitivity as it is (34). An order by a person's own set size (28) is none that depends on others.
"""

from __future__ import annotations

from hushcount.audit.twins.caps import CAP_TWINS
from hushcount.audit.twins.ladders import LADDER_TWINS
from hushcount.audit.twins.ledger import LEDGER_TWINS, LedgerTwin
from hushcount.audit.twins.lists import LIST_TWINS
from hushcount.audit.twins.named import NAMED_TWINS
from hushcount.audit.twins.noise import NOISE_TWINS
from hushcount.audit.twins.policies import POLICY_TWINS
from hushcount.audit.twins.rankings import RANKING_TWINS
from hushcount.audit.twins.steepest import STEEPEST_TWINS
from hushcount.audit.twins.twin import Twin
from hushcount.audit.twins.unions import UNION_TWINS

TWINS: tuple[Twin | LedgerTwin, ...] = (
    *NOISE_TWINS,
    *CAP_TWINS,
    *LIST_TWINS,
    *RANKING_TWINS,
    *UNION_TWINS,
    *POLICY_TWINS,
    *STEEPEST_TWINS,
    *NAMED_TWINS,
    *LADDER_TWINS,
    *LEDGER_TWINS,
)
