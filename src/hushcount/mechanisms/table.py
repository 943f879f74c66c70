"""The explicit list of all mechanisms: what is not here does not exist for the product, the auditor or the docs."""

from __future__ import annotations

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.counts.gaussian_threshold import GAUSSIAN_THRESHOLD
from hushcount.mechanisms.counts.known_domain import KNOWN_GAUSSIAN, KNOWN_LAPLACE
from hushcount.mechanisms.counts.ntm import NTM, NTM_UNCLIPPED
from hushcount.mechanisms.counts.pcr import PCR
from hushcount.mechanisms.counts.pcr_batched import PCR_BATCHED
from hushcount.mechanisms.counts.plume import PLUME, PLUME_THRESHOLD
from hushcount.mechanisms.counts.tsgd import TSGD, TSGD_PUBLIC
from hushcount.mechanisms.counts.unknown_domain import UNKNOWN_LAPLACE
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.selection.ladder import LADDER
from hushcount.mechanisms.selection.optimal import OPTIMAL
from hushcount.mechanisms.selection.sips import SIPS, SIPS_KS
from hushcount.mechanisms.selection.union import UNIONS
from hushcount.mechanisms.topk.hybrid import HYBRID_TOP
from hushcount.mechanisms.topk.known_domain import KNOWN_GUMBEL
from hushcount.mechanisms.topk.unknown_domain import UNKNOWN_GUMBEL
from hushcount.mechanisms.weighting.policy import refuse_l1_descent_for_gaussian
from hushcount.model.queries import Question

MECHANISMS: tuple[Mechanism, ...] = (
    LADDER,
    SIPS,
    SIPS_KS,
    *UNIONS,
    OPTIMAL,
    NTM,
    NTM_UNCLIPPED,
    PCR,
    PCR_BATCHED,
    TSGD,
    TSGD_PUBLIC,
    GAUSSIAN_THRESHOLD,
    PLUME,
    PLUME_THRESHOLD,
    KNOWN_LAPLACE,
    KNOWN_GAUSSIAN,
    UNKNOWN_LAPLACE,
    KNOWN_GUMBEL,
    UNKNOWN_GUMBEL,
    HYBRID_TOP,
)


def find(name: str, question: Question | None = None) -> Mechanism:
    """The mechanism of this name; an unsafe one is refused with the reason, any other with a list of those there are.

    Args:
        name: its name.
        question: if given, what it must answer.
    """
    if name == "policy-gaussian-l1":
        refuse_l1_descent_for_gaussian()
    known = {mechanism.name: mechanism for mechanism in MECHANISMS}
    if name not in known:
        raise InvalidParameter("method", name, f"one of {', '.join(known)}")
    if question not in {None, known[name].question}:
        names = ", ".join(mechanism.name for mechanism in MECHANISMS if mechanism.question == question)
        raise InvalidParameter("method", name, f"one that answers '{question}': {names}")
    return known[name]
