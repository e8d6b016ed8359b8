"""What may be chosen about pretrained weights."""

from dataclasses import dataclass
from typing import Literal, get_args

from vidshift.errors import UserError
from vidshift.models.weights.inflate import Inflation

Eps = Literal["own", "checkpoint"]


@dataclass(frozen=True, kw_only=True)
class WeightsOptions:
    """`init_fc_norm_from_encoder_norm`: start VideoMAE's norm of the pooled vector from the encoder's last norm rather
    than fresh (tokens.md section 7.4: the original starts fresh, RLT does not).

    `eps`: "own" is the original authors' (VideoMAE 1e-6, CLIP 1e-5, DINOv2 1e-6), "checkpoint" what config.json says.
    `keep_head`: keep a fine-tuned head where its classes are as many as the run's.
    `tubelet`, `inflate`, `pooling`: for image weights (`inflate.py`); pooling "" is the family's own choice.
    """

    init_fc_norm_from_encoder_norm: bool = False
    eps: Eps = "own"
    keep_head: bool = False
    tubelet: int = 2
    inflate: Inflation = "average"
    pooling: Literal["", "mean", "class"] = ""

    def __post_init__(self) -> None:
        for name, accepted in (
            ("eps", get_args(Eps)),
            ("inflate", get_args(Inflation)),
            ("pooling", ("", "mean", "class")),
        ):
            if getattr(self, name) not in accepted:
                shown = ", ".join(repr(value) for value in accepted)
                raise UserError(f"{name} {getattr(self, name)!r} is not accepted; give one of {shown}.", usage=True)
        if not isinstance(self.tubelet, int) or self.tubelet < 1:
            raise UserError(f"tubelet {self.tubelet!r} is not accepted; give 1, 2 or more.", usage=True)
