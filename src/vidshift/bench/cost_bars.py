"""What a fast network has to reach, and whether it does: the claim "as fast as its FLOPs" as numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Full passes are to be no slower than transformers' own network; a share of the tokens may take at most this much more
# than its share of the FLOPs; choosing tokens may take at most this much of a full forward pass.
FORWARD_LIMIT, FLOPS_LIMIT, CHOOSING_LIMIT = 1.0, 1.07, 0.01

Line = Mapping[str, Any]
"""A row of numbers (`cost.Costs.lines`, or read from CSV); what was not measured is absent or None."""


@dataclass(frozen=True)
class Bar:
    """One thing to hold, with the worst that was measured; None where nothing was."""

    what: str
    value: float | None
    limit: float
    worst: str = ""

    @property
    def holds(self) -> bool | None:
        return None if self.value is None else self.value <= self.limit

    def __str__(self) -> str:
        if self.value is None:
            return f"not measured: {self.what} (limit {self.limit:g})"
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        return f"{verdict}: {self.what} is {self.value:.3g} (limit {self.limit:g}{self.worst})"

    def as_dict(self) -> dict[str, Any]:
        return {"what": self.what, "value": self.value, "limit": self.limit, "holds": self.holds}


def bars(lines: Sequence[Line]) -> list[Bar]:
    """For every precision, in the order of the lines; of one machine and setting."""
    found: list[Bar] = []
    for precision in dict.fromkeys(line["precision"] for line in lines):
        found += _bars([line for line in lines if line["precision"] == precision], precision)
    return found


def report(lines: Sequence[Line]) -> str:
    """What was measured, a line each; how much was not, in one."""
    found = bars(lines)
    texts = [str(bar) for bar in found if bar.holds is not None]
    left = len(found) - len(texts)
    return "\n".join([*texts, f"{left} such limits were not measured in this run."] if left else texts)


def _bars(lines: Sequence[Line], precision: str) -> list[Bar]:
    full = [line for line in lines if line["reducer"] == "none"]
    parts = [("forward", "forward pass"), ("step", "training step without its optimizer")]
    found = [
        _worst(
            f"{precision}, all tokens: time of a forward pass over that of transformers' VideoMAE",
            full,
            "forward_over_transformers",
            FORWARD_LIMIT,
        )
    ]
    for part, name in parts:
        for asked in sorted({line["asked"] for line in lines if line["asked"] < 1}, reverse=True):
            chosen = [line for line in lines if line["asked"] == asked]
            what = (
                f"{precision}, kept {asked:g}: time of a {name} over that of all tokens, over the ratio of true FLOPs,"
            )
            found.append(_worst(what, chosen, f"{part}_over_flops", FLOPS_LIMIT))
    what = f"{precision}: the share of a full forward pass that energies, selection and packing take"
    return [*found, _worst(what, lines, "choosing_share", CHOOSING_LIMIT)]


def _worst(what: str, lines: Sequence[Line], column: str, limit: float) -> Bar:
    measured = [line for line in lines if line.get(column) is not None]
    if not measured:
        return Bar(what, None, limit)
    line = max(measured, key=lambda line: line[column])
    several = f"; highest of {len(measured)}, with {line['reducer']}" if len(measured) > 1 else ""
    return Bar(what, float(line[column]), limit, several)
