"""The variants of stickworld: part of its definition, and always published together."""

from dataclasses import dataclass, replace

from vidshift.errors import UserError, did_you_mean

DOMAINS: tuple[str, ...] = ("studio", "street", "web")
SPLITS: tuple[str, ...] = ("train", "val", "test")
ACTIONS: tuple[str, ...] = ("drink", "jump", "pick", "pour", "push", "run", "walk", "wave")

# The strengths of the scene shortcut that are published; any other in [0, 1] can be drawn too.
BIASES: tuple[float, ...] = (0.0, 0.3, 0.6, 0.9)
_FLAGS = ("handheld", "static-cue")
_ACCEPTED = "bias=<0 to 1>, handheld, static-cue, default, or several joined by commas"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What is changed in the world.

    `bias` is the probability that a studio clip is filmed in its action's own kind of scene (else the scene is
    drawn uniformly); `handheld` lets the camera drift half a pixel a frame; with `static_cue` an object in the
    scene tells the action, and the motion is drawn without regard to it.
    """

    bias: float = 0.6
    handheld: bool = False
    static_cue: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.bias <= 1.0:
            raise UserError(f"the bias {self.bias:g} is not a probability; choose one from 0 to 1.", usage=True)
        object.__setattr__(self, "bias", abs(float(self.bias)))  # one zero, and one name for it

    @property
    def key(self) -> str:
        """The name that `parse` reads back, the same for equal variants: `bias=0.6,handheld`."""
        flags = [name for name, on in zip(_FLAGS, (self.handheld, self.static_cue), strict=True) if on]
        short = f"{self.bias:g}"
        return ",".join([f"bias={short if float(short) == self.bias else repr(self.bias)}", *flags])

    def seen_by(self, domain: str) -> "Variant":
        """The variant with everything that this domain does not depend on set to its default."""
        return self if domain == "studio" else replace(self, bias=Variant().bias)

    @staticmethod
    def parse(name: str) -> "Variant":
        """`bias=0.3`, `handheld`, `static-cue`, or a combination such as `bias=0.9,handheld`."""
        variant = Variant()
        for part in filter(None, (piece.strip() for piece in name.split(","))):
            option, _, value = part.partition("=")
            if option == "bias" and value:
                variant = replace(variant, bias=_probability(value, name))
            elif part == "handheld":
                variant = replace(variant, handheld=True)
            elif part == "static-cue":
                variant = replace(variant, static_cue=True)
            elif part != "default":
                near = did_you_mean(option, ("bias", *_FLAGS, "default"))
                raise UserError(f"unknown variant {part!r}{near}; accepted: {_ACCEPTED}.", usage=True)
        return variant


def _probability(value: str, name: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UserError(f"the bias in {name!r} is not a number; accepted: {_ACCEPTED}.", usage=True) from None


# The variants that every study publishes side by side.
PUBLISHED: tuple[Variant, ...] = (
    *(Variant(bias=bias) for bias in BIASES),
    Variant(handheld=True),
    Variant(static_cue=True),
)
