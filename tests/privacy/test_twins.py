"""What a twin's finding says, that no sound original is accused, and that every erratum and rule has a twin."""

from __future__ import annotations

import pickle
import re

import pytest

from hushcount.audit.twins import TWINS
from hushcount.audit.twins.caps import CAP_TWINS
from hushcount.audit.twins.system import SYSTEM_TWINS
from hushcount.audit.twins.twin import Twin
from hushcount.mechanisms.table import MECHANISMS
from tests.architecture.test_errata import P0, P1

BY_NAME = {twin.name: twin for twin in TWINS}
# Of each step the last twin that it catches. That all are caught is read off one audit, in tests/e2e/test_audit.py.
ONE_OF_EACH = {twin.caught_by: twin.name for twin in TWINS}


@pytest.mark.parametrize("name", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_the_twin_is_caught(name):
    """The auditor reports it as broken, under its name, and says which step saw what on which data."""
    twin = BY_NAME[name]

    found = twin.attack(quick=True)

    assert found is not None
    assert (found.subject, found.step, found.holds) == (name, twin.caught_by, False)
    assert found.measured
    assert found.where


def original(twin):
    """What a twin is made of and how it is looked at: twins of one original, on the same neighbours, have one key."""
    if not isinstance(twin, Twin):
        return twin.name
    sound = twin.sound
    return sound.run, twin.steps, pickle.dumps((sound.name, sound.facts, sound.plan, tuple(sound.neighbours())))


ORIGINALS = {original(twin): twin for twin in TWINS}


@pytest.mark.parametrize("twin", ORIGINALS.values(), ids=lambda twin: twin.name)
def test_the_sound_original_is_not_accused(twin):
    """The same attack on the mechanism without the mistake finds nothing: once for all twins of an original."""
    assert twin.acquit(quick=True) is None


@pytest.mark.parametrize("name", [one.name for one in MECHANISMS if "per_item_cap" in one.takes])
def test_every_mechanism_with_a_cap_has_twins_that_lose_it(name):
    """Planned without it, and drawing without it: what passes with a cap of one must not pass with two."""
    twins = [one for one in CAP_TWINS if one.broken.name == name]

    assert {twin.broken.facts.per_item_cap for twin in twins} == {2}
    assert any(twin.broken.plan is not twin.sound.plan for twin in twins), "one with another plan"
    assert any(twin.broken.run is not twin.sound.run for twin in twins), "one with another run"


def test_names_are_unique():
    """A verdict names one twin."""
    names = [twin.name for twin in (*TWINS, *SYSTEM_TWINS)]

    assert len(set(names)) == len(names)


def test_every_erratum_has_a_twin():
    """Each erratum that breaks a guarantee is a twin's mistake."""
    words = " ".join(twin.erratum for twin in (*TWINS, *SYSTEM_TWINS))
    errata = {
        int(number) for part in re.findall(r"errat(?:um|a) ([\d, and]+)", words) for number in re.findall(r"\d+", part)
    }

    assert not (P0 | P1) - errata


@pytest.mark.parametrize(
    "rule",
    [
        "Laplace noise 20 % too small",
        "Gaussian noise 20 % too small",
        "k-TSGD noise 20 % too small",
        "coin noise 20 % too small",
        "Gumbel noise 20 % too small",
        "known Gaussian noise 20 % too small",
        "noise for one item of two",
        "threshold one too low",
        "names sorted by true count",
        "released Gumbel scores",
        "bottom not charged",
        "no dedupe",
        "reused seed on changed data",
        "float low bits",
        "order of input leaking into output",
    ],
)
def test_every_rule_has_a_twin(rule):
    """The mistakes that are easily made without any paper are there too."""
    assert rule in {twin.name for twin in (*TWINS, *SYSTEM_TWINS)}
