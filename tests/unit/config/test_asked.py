"""What the expressions of `status:` ask of a run's result by name."""

from __future__ import annotations

import pytest

from runner.config.expressions import asked_data, asked_kinds


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("data.size", {"size"}),
        ("data.size.deep[0].er", {"size"}),
        ("data.names[*].name", {"names"}),
        ("data.a || data.b", {"a", "b"}),
        ("length(data.names)", {"names"}),
        ("{x: data.a, y: stats.ok}", {"a"}),
        ('data."a-b"', {"a-b"}),
        ("data", set()),
        ("data.{x: a}", {"a"}),
        ("data.keys(@)", set()),
        ("stats.changed", set()),
        ("children[?data.x == 'a'].data.y", set()),
    ],
)
def test_the_names_of_published_data(expression: str, names: set[str]) -> None:
    assert asked_data(expression) == names


@pytest.mark.parametrize(
    ("expression", "kinds"),
    [
        ("children[?kind=='Deployment'] | [0].status.readyReplicas", {"Deployment"}),
        ("length(children[?kind == 'Pod' && status.phase == 'Running'])", {"Pod"}),
        ("children[?'Pod' == kind]", {"Pod"}),
        ("children[?kind!='Pod']", set()),
        ("children[?metadata.name=='Pod']", set()),
        ("data.kind", set()),
    ],
)
def test_the_kinds_of_children(expression: str, kinds: set[str]) -> None:
    assert asked_kinds(expression) == kinds
