"""config/prometheus/rules.yaml and config/grafana: queries are PromQL about our metrics, alerts are explained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from runner.families import FAMILIES, Type
from tests.fixtures.queries import TARGET, alerts, asked, panels, queries

PAGE = (Path(__file__).parents[2] / "docs/how-to/alerts.md").read_text()
ALERTS = alerts()
HISTOGRAM = ("_bucket", "_sum", "_count")
SERIES = {
    series: {*family.labels, *({"le"} if series.endswith("_bucket") else ())}
    for family in FAMILIES
    for series in ([family.name + end for end in HISTOGRAM] if family.type is Type.HISTOGRAM else [family.name])
}


@pytest.mark.parametrize(("where", "expression"), list(queries()), ids=[where for where, _ in queries()])
def test_a_query_asks_for_metrics_and_labels_that_are_declared(where: str, expression: str) -> None:
    for name, labels in asked(expression).items():
        if not name.startswith("process_"):
            assert labels.keys() <= SERIES[name] | TARGET


def test_what_is_not_promql_is_noticed() -> None:
    with pytest.raises(ValueError, match="unclosed"):
        asked("sum(rate(up[5m])")


@pytest.mark.parametrize("alert", ALERTS, ids=[alert["alert"] for alert in ALERTS])
def test_an_alert_has_a_severity_a_summary_and_a_section_of_the_page(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"info", "warning", "critical"}
    assert alert["annotations"]["summary"]
    assert alert["annotations"]["runbook_url"] == f"docs/how-to/alerts.md#{alert['alert'].lower()}"
    assert f"\n## {alert['alert']}\n" in PAGE


@pytest.mark.parametrize("alert", ALERTS, ids=[alert["alert"] for alert in ALERTS])
def test_the_labels_that_an_alert_names_are_those_of_its_metric(alert: dict[str, Any]) -> None:
    named = set(re.findall(r"\$labels\.(\w+)", str(alert["annotations"])))
    found = asked(alert["expr"])
    for name, labels in found.items():
        grouped = re.search(r"\bby\b", alert["expr"])
        assert named <= (labels.keys() if grouped else SERIES[name])


def test_the_page_explains_no_other_alert() -> None:
    assert re.findall(r"^## (\w+)$", PAGE, re.MULTILINE) == [alert["alert"] for alert in ALERTS]


def test_each_panel_of_the_dashboard_has_a_place_of_its_own() -> None:
    places = [panel["gridPos"] for panel in panels()]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    assert len({panel["id"] for panel in panels()}) == len(panels())
