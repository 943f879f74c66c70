"""Saved and published questions: whose they are, who reads what, and what nobody can find out."""

from __future__ import annotations

import pytest

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.tokens import WantedToken, make_token
from hushcount.app.serving.owners.saved import (
    dataset_of_published,
    find_saved,
    latest,
    may_read,
    note_release,
    publish,
    published_on,
    remove,
    save,
    saved_by,
    saved_form,
    take_back,
)
from hushcount.errors import InvalidParameter, NotFound, NotPermitted, Outdated
from tests.unit.app.serving.world import ARNE, CLICKS, EVE, KEY, MAX, OLGA, RAE, VISITS, ZOE

QUESTION = {"question": "top", "item": "article", "k": 10}
RELEASE, NEWER = "r_abcdefgh", "r_bcdefghi"


def saved(world, caller=ZOE, name="weekly", **question):
    """A question that somebody saved."""
    return save(world.service, caller, VISITS, name=name, question={**QUESTION, **question})


def test_a_question_is_saved_and_changed_under_its_name(world):
    """The same name again is another edition of the same; its newest release was of the old one and is forgotten."""
    first = saved(world)
    note_release(world.service, first, release=RELEASE)
    second = saved(world, k=20)

    assert second.id == first.id
    assert (second.question["k"], second.latest) == (20, None)
    assert [one.name for one in saved_by(world.service, ZOE)] == ["weekly"]
    assert find_saved(world.service, ZOE, first.id) == second


def test_an_answer_to_a_question_that_was_changed_meanwhile_is_not_its_newest(world):
    """Else an owner would look at a harmless question, and publish the answer to another one."""
    first = saved(world, k=10)
    second = saved(world, k=20)
    with pytest.raises(Outdated):
        note_release(world.service, first, release=RELEASE)

    assert find_saved(world.service, ZOE, "weekly").latest is None
    assert note_release(world.service, second, release=NEWER).latest == NEWER


def test_names_are_ones_own(world):
    """Two people use one name and neither learns of the other."""
    mine, theirs = saved(world), saved(world, MAX)

    assert mine.id != theirs.id
    assert find_saved(world.service, MAX, "weekly").owner == "max"
    for name in (mine.id, "nothing"):
        with pytest.raises(NotFound):
            find_saved(world.service, MAX, name)
    with pytest.raises(NotFound):
        remove(world.service, MAX, mine.id)
    remove(world.service, ZOE, "weekly")
    assert saved_by(world.service, ZOE) == ()


def test_only_those_who_ask_save(world):
    """Readers, auditors and strangers do not."""
    for caller, error in ((RAE, NotPermitted), (ARNE, NotPermitted), (EVE, NotFound)):
        with pytest.raises(error):
            saved(world, caller)


@pytest.mark.parametrize("name", ["", "Weekly", "a b", "-a", "a/b", "../x", "a" * 81, "ä", "*"])
def test_names_are_parts_of_addresses(world, name):
    """Small letters, digits, hyphens."""
    with pytest.raises(InvalidParameter):
        saved(world, name=name)


def test_questions_are_small_json(world):
    """What is no JSON, or too long, is not kept."""
    for bad in ({"x": object()}, {"x": float("nan")}, {"x": "y" * 1_000_001}):
        with pytest.raises(InvalidParameter):
            save(world.service, ZOE, VISITS, name="weekly", question=bad)
    for release in ("q_abcdefgh", "r_", "r_ABCDEFGH", "r_abcdefgh/../x"):
        with pytest.raises(InvalidParameter):
            note_release(world.service, saved(world), release=release)


def test_readers_read_the_newest_release_of_what_is_published(world):
    """Nothing before it is published, nothing of other data, and never an older release."""
    one = saved(world)
    note_release(world.service, one, release=RELEASE)
    with pytest.raises(NotFound):
        latest(world.service, RAE, "weekly", offer=VISITS)
    assert not may_read(world.service, RAE, RELEASE, offer=VISITS)
    one = publish(world.service, OLGA, one.id, offer=VISITS, name="top-articles")

    assert latest(world.service, RAE, "top-articles", offer=VISITS) == RELEASE
    assert may_read(world.service, RAE, RELEASE, offer=VISITS)
    note_release(world.service, one, release=NEWER)
    assert latest(world.service, RAE, "top-articles", offer=VISITS) == NEWER
    assert (may_read(world.service, RAE, NEWER, offer=VISITS), may_read(world.service, RAE, RELEASE, offer=VISITS)) == (
        True,
        False,
    )
    assert latest(world.service, ZOE, "weekly", offer=None) == NEWER
    assert dataset_of_published(world.service, "top-articles") == "visits"
    assert dataset_of_published(world.service, "weekly") is None


def test_what_is_published_is_for_those_with_a_role(world):
    """A stranger cannot tell it from what is not there; the wrong data set does not help."""
    one = saved(world)
    note_release(world.service, one, release=RELEASE)
    publish(world.service, OLGA, one.id, offer=VISITS, name="top-articles")
    world.ledger.grant("eve", "reader", dataset="clicks", by="olga")
    texts = set()
    for caller, name, offer in (
        (EVE, "top-articles", VISITS),
        (EVE, "top-articles", CLICKS),
        (RAE, "top-articles", CLICKS),
        (RAE, "top-articles", None),
    ):
        with pytest.raises(NotFound) as refused:
            latest(world.service, caller, name, offer=offer)
        texts.add(str(refused.value))
    with pytest.raises(NotFound) as missing:
        latest(world.service, EVE, "nothing-here", offer=None)

    assert texts == {str(missing.value).replace("nothing-here", "top-articles")}
    assert not may_read(world.service, EVE, RELEASE, offer=VISITS)
    with pytest.raises(NotFound):
        published_on(world.service, EVE, VISITS)


def test_a_question_without_a_release_says_so_to_who_may_know(world):
    """Its owner, and readers once it is published."""
    one = saved(world)
    with pytest.raises(NotFound, match="no release yet"):
        latest(world.service, ZOE, "weekly", offer=None)
    publish(world.service, OLGA, one.id, offer=VISITS, name="top-articles")
    with pytest.raises(NotFound, match="no release yet"):
        latest(world.service, RAE, "top-articles", offer=VISITS)


def test_owners_publish_and_take_back(world):
    """Nobody else does; a name is given once; a published question is not changed under its readers."""
    one, other = saved(world), saved(world, MAX)
    for caller, error in ((ZOE, NotPermitted), (RAE, NotPermitted), (EVE, NotFound)):
        with pytest.raises(error):
            publish(world.service, caller, one.id, offer=VISITS, name="top-articles")
    publish(world.service, OLGA, one.id, offer=VISITS, name="top-articles")
    for question, name in ((other.id, "top-articles"), (one.id, "another")):
        with pytest.raises(NotPermitted):
            publish(world.service, OLGA, question, offer=VISITS, name=name)
    with pytest.raises(NotFound):
        publish(world.service, OLGA, other.id, offer=CLICKS, name="clicks")
    with pytest.raises(NotPermitted):
        saved(world, k=99)
    with pytest.raises(NotPermitted):
        remove(world.service, ZOE, "weekly")
    assert [one.published for one in published_on(world.service, RAE, VISITS)] == ["top-articles"]
    with pytest.raises(NotPermitted):
        take_back(world.service, ZOE, "top-articles", offer=VISITS)
    take_back(world.service, OLGA, "top-articles", offer=VISITS)

    assert published_on(world.service, RAE, VISITS) == ()
    assert saved(world, k=99).question["k"] == 99
    assert publish(world.service, OLGA, other.id, offer=VISITS, name="top-articles").owner == "max"


def test_a_narrowed_token_sees_and_changes_no_more_of_ones_own(world):
    """One for other data finds nothing; one that only reads removes nothing."""
    saved(world)
    for scopes, datasets, error in ((("manage",), ("clicks",), NotFound), (("read",), None, NotPermitted)):
        wanted = WantedToken(label="s", scopes=scopes, datasets=datasets)
        caller = Caller(name="zoe", token=make_token(world.setting, KEY, owner="zoe", wanted=wanted).token)
        with pytest.raises(error):
            remove(world.service, caller, "weekly")
        assert len(saved_by(world.service, caller)) == (datasets is None)

    assert find_saved(world.service, ZOE, "weekly")


def test_readers_are_not_told_whose_it_is(world):
    """Nor what its owner calls it."""
    one = publish(world.service, OLGA, saved(world, name="zoes-own-name").id, offer=VISITS, name="top-articles")
    shown = saved_form(one, mine=False)

    assert "zoe" not in str(shown)
    assert shown["name"] == "top-articles"
    assert saved_form(one, mine=True)["name"] == "zoes-own-name"
