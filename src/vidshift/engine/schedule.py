"""The learning rate over a stage: linear warm-up, then a cosine (docs/method.md section 5 row 24)."""

import math


def factor(step: int, *, total: int, warmup: float, floor: float = 1e-3) -> float:
    """What every group's learning rate is multiplied by at `step` of `total`; `warmup` is a share of the steps."""
    ramp = max(1, round(warmup * total))
    if step < ramp:
        return (step + 1) / ramp
    along = (step - ramp) / max(1, total - ramp)
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * min(along, 1.0)))
