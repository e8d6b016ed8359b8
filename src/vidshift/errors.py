"""What a user is told when something cannot go on: one sentence, never a traceback."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake or a circumstance that the user can act on.

    The message is one sentence with the bad value, what is accepted, and the next step. `usage=True` marks a
    wrong call (exit status 2); everything else exits with 1.
    """

    def __init__(self, message: str, *, usage: bool = False) -> None:
        super().__init__(message)
        self.usage = usage

    @property
    def exit_code(self) -> int:
        return 2 if self.usage else 1


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """` (did you mean 'walk'?)` for a near miss among the options, else an empty string."""
    by_folded = {option.casefold(): option for option in options}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return f" (did you mean {by_folded[close[0]]!r}?)" if close else ""


def unknown(kind: str, name: str, options: Iterable[str]) -> UserError:
    """The error for a name that is not in a registry or a choice."""
    accepted = sorted(options)
    return UserError(
        f"unknown {kind} {name!r}{did_you_mean(name, accepted)}; accepted: {', '.join(accepted)}.", usage=True
    )
