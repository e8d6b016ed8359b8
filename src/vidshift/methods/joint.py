"""`joint`: the paper's training scheme, L = CE(source) + lambda_t CE(target, the teacher's confident guesses).

With the reducer `lmft` this is the paper's "Ours", with `none` its "Ours w/o LMFT". The guesses are made once before
training and filtered by max q > gamma_c; a target without any confident guess leaves Source Only, bit for bit.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torch.nn import functional as F

from vidshift.errors import UserError
from vidshift.methods.base import Batch, Context, Data, Losses, Method, Stage, Term, methods


@methods.register("joint")
class Joint(Method):
    name = "joint"

    def __init__(self, *, target_weight: float = 0.5) -> None:
        super().__init__()
        if target_weight < 0:
            raise UserError(
                f"target_weight {target_weight:g} is negative; give 0 or more (the paper: 0.5).", usage=True
            )
        self.target_weight = target_weight

    def options(self) -> Mapping[str, Any]:
        return {"target_weight": self.target_weight}

    def stages(self) -> Sequence[Stage]:
        data: tuple[Data, ...] = ("source", "target", "table") if self.target_weight else ("source",)
        return (Stage(name="train", data=frozenset(data), target_rows="kept"),)

    def step(self, ctx: Context, batch: Batch) -> Losses:
        source, target = batch.source, batch.target
        assert source is not None
        terms = Term()
        on_source = ctx.forward(source.views[0], seeds_B=source.seeds_B, domain="source")
        terms.add("source", lambda: F.cross_entropy(on_source.logits_BK, source.labels_B), domain="source", task=True)
        if target is not None and self.target_weight:
            guess_B = target.guess_B
            assert guess_B is not None
            on_target = ctx.forward(target.views[0], seeds_B=target.seeds_B, domain="target")
            terms.add(
                "target",
                lambda: F.cross_entropy(on_target.logits_BK, guess_B),
                weight=self.target_weight,
                domain="target",
                task=True,
            )
        return terms.losses
