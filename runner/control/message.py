"""What condition Failure and its Event say of a run that failed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from runner.execute.outcome import Ending, Outcome

LONGEST_MESSAGE = 32768
"""What metav1.Condition allows in a message, in characters."""
LONGEST_TOLD = 1000
"""Characters of all failures of a run together, but for the count of those left out."""
LONGEST_REFUSAL = 1024
"""Characters: an API server's message may quote the whole value."""
_SHORT_REFUSAL = 500
"""At least so many beside a failure: an Event carries both."""


def failure_message(outcome: Outcome, *, go_messages: bool = False) -> str | None:
    """Why a run counts as failed; None if it does not. `go_messages` asks for the Go operator's texts."""
    if outcome.succeeded:
        return None
    if not go_messages and outcome.failures:
        return together([failure.told for failure in outcome.failures])
    messages = outcome.messages
    if outcome.ending is Ending.DEADLINE:
        messages += ("The run was stopped because it took longer than its deadline",)
    elif outcome.unreachable and not messages:
        messages = ("A host was unreachable",)
    if messages:
        return "\n".join(messages)[:LONGEST_MESSAGE]
    return f"Ansible ended without a recap, exit code {outcome.return_code}\n{outcome.tail}".rstrip()[
        -LONGEST_MESSAGE:
    ]


def together(told: Sequence[str]) -> str:
    """A line each, the same only once, and no more of them than an Event can carry."""
    lines = list(dict.fromkeys(told))
    kept = lines[:1]
    for line in lines[1:]:
        if len("\n".join((*kept, line))) > LONGEST_TOLD:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    return "\n".join((*kept, f"... and {left} more") if left else kept)


def with_refusal(outcome: Outcome, refusal: str, *, go_messages: bool = False) -> str:
    """The same of a run whose result was refused: why it failed, if it did, and `refusal`."""
    failure = failure_message(outcome, go_messages=go_messages) or ""
    room = LONGEST_MESSAGE if go_messages else LONGEST_REFUSAL
    refusal = refusal[: max(_SHORT_REFUSAL, room - len(failure) - 1)]
    return "\n".join(filter(None, (failure[: room - len(refusal) - 1], refusal)))
