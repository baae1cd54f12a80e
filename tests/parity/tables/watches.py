"""The fields of a watch."""

from __future__ import annotations

from tests.parity.rows import inputs, refusals, triggers, values

FIELDS = (
    refusals("watch-version", "version is required", lambda f: "invalid GVK" in f["no version"]["text"]),
    refusals("watch-kind", "kind is required", lambda f: "invalid GVK" in f["no kind"]["text"]),
    inputs("watch-group", "an empty group is the core group", lambda f: f["secret"]["name"], "secret"),
    values(
        "watch-playbook-wins",
        "playbook wins over role, which is not checked then",
        lambda f: f["book"]["extra"]["role_path"],
        "",
    ),
    refusals(
        "watch-neither",
        "one of role and playbook is required",
        lambda f: "must specify Role or Playbook" in f["neither"]["text"],
    ),
    refusals(
        "watch-duplicate",
        "a GVK may be watched once",
        lambda f: "duplicate GVK: dup.example.com/v1, Kind=A" in f["duplicate"]["text"],
    ),
    refusals(
        "watch-two-versions",
        "a kind may be watched in two versions, which runs every object twice: refused here",
        lambda f: f["two versions"]["refused"] and "in line 1 already" in f["two versions"]["text"],
        mended=True,
    ),
    values("watch-vars", "vars are merged last", lambda f: f["full"]["extravars"]["overlaid"], "by the watch"),
    refusals(
        "watch-period-number", "a number for reconcilePeriod is an error", lambda f: f["period number"]["refused"]
    ),
    refusals("watch-period-zero", "even 0", lambda f: f["period zero"]["refused"]),
    refusals("watch-period-empty", 'and ""', lambda f: f["period empty"]["refused"]),
    refusals("watch-period-null", "null is the default", lambda f: f["period null"]["refused"], False),
    refusals("watch-period-quoted-zero", '"0" is the flag', lambda f: f["period quoted zero"]["refused"], False),
    triggers("watch-period-negative", "a negative one means never", lambda f: f["never"], 1),
    triggers("watch-period-flag", "0s leaves it to the flag", lambda f: f["by flag"] > 1),
    triggers("watch-period", "the watch's goes before the flag", lambda f: f["by watch"], 1),
    refusals("watch-blacklist", "blacklist is not validated", lambda f: f["odd blacklist"]["refused"], False),
    refusals(
        "watch-selector-operator", "a bad selector operator is fatal", lambda f: f["selector operator"]["refused"]
    ),
    refusals(
        "watch-selector-exists", "Exists with values: [] is fine", lambda f: f["selector exists"]["refused"], False
    ),
    refusals(
        "watch-finalizer-name",
        "a finalizer needs a name",
        lambda f: "finalizer must have name" in f["finalizer name"]["text"],
    ),
    refusals("watch-finalizer-empty", "and content or vars", lambda f: f["finalizer empty"]["refused"]),
    refusals(
        "watch-finalizer-vars",
        "a wrong path beside vars loads",
        lambda f: f["finalizer wrong path"]["refused"],
        False,
    ),
    refusals("watch-finalizer-wrong", "and without vars does not", lambda f: f["finalizer wrong"]["refused"]),
)

ROWS = (*FIELDS,)
