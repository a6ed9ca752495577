from __future__ import annotations

import pytest

from holdfast.errors import InputError
from holdfast.providers.azure import type_catalog
from holdfast.providers.azure.kinds import Kinds
from holdfast.providers.azure.type_catalog import Clears, Scope, Types

AKS = "Microsoft.ContainerService/managedClusters"


def test_habits_are_looked_up_without_case_and_the_first_word_wins():
    known = Types(type_catalog.read_habits([{"types": "microsoft.containerservice/*", "clears": "null"}]))
    found = known[AKS.upper()]
    assert (found.clears, found.conditional) == (Clears.NULL, True)  # its own first, the rest as shipped
    assert found.children[0].key == "name"


def test_a_type_that_nobody_knows_is_a_plain_one():
    found = Types()["Contoso.Test/widgets"]
    assert (found.scope, found.clears, found.conditional, found.children) == (Scope.GROUP, Clears.OMIT, False, ())
    assert found.terminal == type_catalog.TERMINAL


def test_terminal_words_of_a_type_join_the_usual_ones():
    assert "running" in Types()["Microsoft.Kusto/clusters"].terminal
    assert "succeeded" in Types()["Microsoft.Kusto/clusters"].terminal
    assert "running" not in Types()["Microsoft.Web/sites"].terminal


@pytest.mark.parametrize(
    "habits, message",
    [
        ({}, "a list of habits"),
        ([{}], "needs the types"),
        ([{"types": "*", "colour": "red"}], "unknown word 'colour'"),
        ([{"types": "*", "scope": "moon"}], "moon"),
        ([{"types": "*", "conditional": "yes"}], "true or false"),
        ([{"types": "*", "verbs": ["POST"]}], "verbs are some of"),
    ],
)
def test_a_habit_that_cannot_be_one_is_refused(habits, message):
    with pytest.raises(InputError, match=message):
        type_catalog.read_habits(habits)


def test_the_kinds_answer_for_friendly_names_for_resource_and_for_every_type():
    kinds = Kinds()
    assert "StorageAccount" in kinds
    assert type_catalog.ANY_KIND in kinds
    assert "Contoso.Test/widgets" in kinds
    assert "Storageaccount" not in kinds
    assert len(list(kinds)) == len(kinds)
    assert all(kinds[name].name == name for name in kinds)


def test_what_a_parent_shows_of_its_children_is_theirs():
    own = Kinds()["VirtualNetwork"].profiles[0]
    assert [rule.path.text for rule in own.rules] == ["/properties/subnets", "/properties/virtualNetworkPeerings"]
    assert Kinds()["Microsoft.Network/virtualNetworks"].profiles[0] == own


def test_every_friendly_kind_has_a_type_and_a_version_of_its_own():
    kinds, _ = type_catalog.shipped()
    assert len({named.type.casefold() for named in kinds.values()}) == len(kinds)
    assert all(type_catalog.kind_of(named.type.casefold()) == kind for kind, named in kinds.items())
