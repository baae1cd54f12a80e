"""Takes out of an observation what stock Ansible itself draws anew for every run, and nothing else.

What names something (a UUID, a temporary file) is numbered by its first appearance, so that two names that were
equal stay equal, and two that differed stay different. What measures (moments, spans) is left out.

One thing more is: the frames of a traceback. Where a module of ansible-core 2.18 crashes, they name the packed
module or the file that it was packed from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_NAMES = {
    "uuid": r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])",
    "ansible-tmp": r"ansible-tmp-\d+\.\d+-\d+-\d+",
    "ansible-local": r"ansible-local-\d+[a-z0-9_]{8}(?:/\.?[a-z0-9_]{8}\b)?",
    "content": r"(?:(?<=^)|(?<=\"))\.[a-z0-9_]{8}(?=$|\")",
    "play": r"(?:(?<=/project/)|(?<=PLAYBOOK: ))[0-9a-f]{32}\b",
    "payload": r"(?<=_payload_)[a-z0-9_]{8}\b",
    "moduletmp": r"ansible-moduletmp-\d+(?:\.\d+)?-[a-z0-9_]{8}",
    "job": r"\bj\d+\.\d+\b",
    "tmp": r"\btmp[a-z0-9_]{8}\b",
    "mkdtemp": r"\bansible\.[a-z0-9_]{8}(?=[^a-z0-9_]|$)",
    "backup": r"\.\d+\.\d{4}-\d\d-\d\d@\d\d:\d\d:\d\d~",
}
_MEASURES = {
    "<time>": r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)?",
    "<date>": r"\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT",
    "<klog>": r"\b[EIW]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ (?=\w+\.go)",
    "Paused for <span>": r"Paused for \d+\.\d+ seconds",
    "<span>": r"\b\d:\d\d:\d\d\.\d{6}\b",
    "<frame>": r"<frame at 0x[0-9a-f]+, file '[^']*', line \d+, code \w+>",
    '"clusterIPs": <ips>': r'"clusterIPs": \[[^]]*\]',
    "Traceback <frames>": r"Traceback \(most recent call last\):(?:(?:\n|\\n)[ \t]+(?:(?!\\n)[^\n])*)+",
}
_MOMENTS = ("atime", "mtime")
_NAME = re.compile("|".join(f"(?P<{kind.replace('-', '_')}>{pattern})" for kind, pattern in _NAMES.items()))
_MEASURE = {sign: re.compile(pattern) for sign, pattern in _MEASURES.items()}
_RESULT = re.compile(r" => (\{.*\})(\x1b\[0m)?$", re.MULTILINE)


class Normal:
    """Normalises one observation, in the order in which its parts are given.

    `replaced` maps known texts to what stands for them; `volatile` are keys whose values are left out, wherever
    they appear; `numbered` False gives every name of a kind the same number, where chance decides the order.
    """

    def __init__(
        self, replaced: Mapping[str, str] | None = None, volatile: Iterable[str] = (), *, numbered: bool = True
    ) -> None:
        self._replaced = dict(replaced or {})
        self._volatile = frozenset(volatile)
        keys = "|".join(map(re.escape, sorted(self._volatile)))
        self._pair = re.compile(rf'("(?:{keys})": )(?:"[^"]*"|[^\[{{,}}\s]+)') if keys else None
        self._numbered = numbered
        self._numbers: dict[str, dict[str, int]] = {}

    def value(self, value: Any) -> Any:
        """Any JSON value; the keys of mappings are visited in alphabetical order."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._of_key(key, value[key]) for key in sorted(value, key=str)}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value

    def text(self, text: str) -> str:
        """A text; the result that Ansible shows of a task is read as JSON."""
        parts, end = [], 0
        for found in _RESULT.finditer(text):
            parts += [self._plain(text[end : found.start()]), self._result(found)]
            end = found.end()
        return "".join([*parts, self._plain(text[end:])])

    def event(self, event: Mapping[str, Any]) -> Any:
        """An event of ansible-runner: its process and its duration are its own."""
        plain = {key: value for key, value in event.items() if key not in ("pid", "created")}
        data = plain.get("event_data")
        if isinstance(data, Mapping):
            plain["event_data"] = {key: value for key, value in data.items() if key != "duration"}
        return self.value(plain)

    def _of_key(self, key: object, value: Any) -> Any:
        moment = isinstance(value, float) and key in _MOMENTS
        return f"<{key}>" if moment or key in self._volatile else self.value(value)

    def _result(self, found: re.Match[str]) -> str:
        try:
            result = json.loads(found[1])
        except ValueError:
            return self._plain(found[0])
        return f" => {json.dumps(self.value(result), ensure_ascii=False)}{found[2] or ''}"

    def _plain(self, text: str) -> str:
        for known, sign in self._replaced.items():
            text = text.replace(known, sign)
        if self._pair:
            text = self._pair.sub(r"\1<volatile>", text)
        for sign, measure in _MEASURE.items():
            text = measure.sub(sign, text)
        return _NAME.sub(self._number, text)

    def _number(self, found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        known = self._numbers.setdefault(kind, {})
        number = known.setdefault(found[0], len(known) + 1) if self._numbered else 0
        return f"<{kind} {number}>"
