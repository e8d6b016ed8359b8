"""What several reducers share."""

from torch import Tensor

from vidshift.errors import UserError


def check_fraction(name: str, value: float, *, open_end: bool = False) -> float:
    """A share in (0, 1], or in (0, 1) for a threshold."""
    value = float(value)
    inside = 0 < value < 1 if open_end else 0 < value <= 1
    if not inside:
        accepted = "above 0 and below 1" if open_end else "above 0 and at most 1"
        raise UserError(f"{name} {value:g} is not accepted: give a number {accepted}, such as 0.5.", usage=True)
    return value


def check_floor(floor: float) -> float:
    """The least range of energies to divide by (`motion.normalise`)."""
    floor = float(floor)
    if not 0 <= floor < 1:
        raise UserError(f"floor {floor:g} is not accepted: give 0 (none) or a number below 1 such as 0.02.", usage=True)
    return floor


def keep_top(rank_BN: Tensor, count: int) -> Tensor:
    """`keep_BN` of the `count` highest ranks of each clip; among equal ranks the earlier token goes first."""
    last_B1 = rank_BN.topk(count, dim=1).values[:, -1:]
    more_BN, equal_BN = rank_BN > last_B1, rank_BN == last_B1
    room_B1 = count - more_BN.sum(dim=1, keepdim=True)
    return more_BN | (equal_BN & (equal_BN.cumsum(dim=1) <= room_B1))
