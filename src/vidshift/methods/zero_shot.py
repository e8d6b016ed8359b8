"""`zero-shot`: the teacher alone, without training (methods.md section 2)."""

from collections.abc import Sequence

from torch import Tensor

from vidshift.data.view import View
from vidshift.methods.base import Context, Method, Stage, methods


@methods.register("zero-shot")
class ZeroShot(Method):
    """It has no stages; its predictions are the teacher's."""

    name = "zero-shot"

    def stages(self) -> Sequence[Stage]:
        return ()

    def predict(self, ctx: Context, view: View, *, seeds_B: Tensor) -> Tensor:
        return ctx.teach(view)
