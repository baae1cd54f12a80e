"""The fields of a watch."""

from __future__ import annotations

from tests.parity.rows import Row

FIELDS = (
    Row(
        id="watch-version",
        says="version is required",
        batch="refusals",
        seen=lambda f: "invalid GVK" in f["no version"]["text"],
    ),
    Row(
        id="watch-kind",
        says="kind is required",
        batch="refusals",
        seen=lambda f: "invalid GVK" in f["no kind"]["text"],
    ),
    Row(
        id="watch-group",
        says="an empty group is the core group",
        batch="inputs",
        seen=lambda f: f["secret"]["name"],
        expected="secret",
    ),
    Row(
        id="watch-playbook-wins",
        says="playbook wins over role, which is not checked then",
        batch="values",
        seen=lambda f: f["book"]["extra"]["role_path"],
        expected="",
    ),
    Row(
        id="watch-neither",
        says="one of role and playbook is required",
        batch="refusals",
        seen=lambda f: "must specify Role or Playbook" in f["neither"]["text"],
    ),
    Row(
        id="watch-duplicate",
        says="a GVK may be watched once",
        batch="refusals",
        seen=lambda f: "duplicate GVK: dup.example.com/v1, Kind=A" in f["duplicate"]["text"],
    ),
    Row(
        id="watch-two-versions",
        says="a kind may be watched in two versions, which runs every object twice: refused here",
        batch="refusals",
        seen=lambda f: f["two versions"]["refused"] and "in line 1 already" in f["two versions"]["text"],
        mended=True,
    ),
    Row(
        id="watch-vars",
        says="vars are merged last",
        batch="values",
        seen=lambda f: f["full"]["extravars"]["overlaid"],
        expected="by the watch",
    ),
    Row(
        id="watch-period-number",
        says="a number for reconcilePeriod is an error",
        batch="refusals",
        seen=lambda f: f["period number"]["refused"],
    ),
    Row(id="watch-period-zero", says="even 0", batch="refusals", seen=lambda f: f["period zero"]["refused"]),
    Row(id="watch-period-empty", says='and ""', batch="refusals", seen=lambda f: f["period empty"]["refused"]),
    Row(
        id="watch-period-null",
        says="null is the default",
        batch="refusals",
        seen=lambda f: f["period null"]["refused"],
        expected=False,
    ),
    Row(
        id="watch-period-quoted-zero",
        says='"0" is the flag',
        batch="refusals",
        seen=lambda f: f["period quoted zero"]["refused"],
        expected=False,
    ),
    Row(
        id="watch-period-negative",
        says="a negative one means never",
        batch="triggers",
        seen=lambda f: f["never"],
        expected=1,
    ),
    Row(
        id="watch-period-flag", says="0s leaves it to the flag", batch="triggers", seen=lambda f: f["by flag"] > 1
    ),
    Row(
        id="watch-period",
        says="the watch's goes before the flag",
        batch="triggers",
        seen=lambda f: f["by watch"],
        expected=1,
    ),
    Row(
        id="watch-blacklist",
        says="blacklist is not validated",
        batch="refusals",
        seen=lambda f: f["odd blacklist"]["refused"],
        expected=False,
    ),
    Row(
        id="watch-selector-operator",
        says="a bad selector operator is fatal",
        batch="refusals",
        seen=lambda f: f["selector operator"]["refused"],
    ),
    Row(
        id="watch-selector-exists",
        says="Exists with values: [] is fine",
        batch="refusals",
        seen=lambda f: f["selector exists"]["refused"],
        expected=False,
    ),
    Row(
        id="watch-finalizer-name",
        says="a finalizer needs a name",
        batch="refusals",
        seen=lambda f: "finalizer must have name" in f["finalizer name"]["text"],
    ),
    Row(
        id="watch-finalizer-empty",
        says="and content or vars",
        batch="refusals",
        seen=lambda f: f["finalizer empty"]["refused"],
    ),
    Row(
        id="watch-finalizer-vars",
        says="a wrong path beside vars loads",
        batch="refusals",
        seen=lambda f: f["finalizer wrong path"]["refused"],
        expected=False,
    ),
    Row(
        id="watch-finalizer-wrong",
        says="and without vars does not",
        batch="refusals",
        seen=lambda f: f["finalizer wrong"]["refused"],
    ),
)

ROWS = (*FIELDS,)
