"""Who is filmed: colours of clothes, skin and hair, with their words."""

from dataclasses import dataclass

from numpy.random import Generator

from vidshift.data.stickworld.props import vary
from vidshift.data.stickworld.raster import Colour

Named = tuple[str, Colour]

BRIGHT: tuple[Named, ...] = (
    ("red", (215, 45, 45)),
    ("blue", (45, 95, 215)),
    ("green", (45, 165, 75)),
    ("yellow", (235, 205, 50)),
    ("white", (238, 238, 235)),
    ("purple", (145, 65, 175)),
    ("orange", (238, 130, 40)),
)
MUTED: tuple[Named, ...] = (
    ("black", (32, 32, 36)),
    ("grey", (125, 125, 128)),
    ("brown", (120, 78, 48)),
    ("olive", (108, 112, 55)),
    ("beige", (205, 185, 150)),
    ("maroon", (112, 30, 48)),
    ("teal", (38, 115, 120)),
)
_TROUSERS = {
    "studio": ((35, 40, 70), (40, 40, 42), (95, 95, 100), (70, 50, 95)),
    "street": ((70, 95, 140), (165, 145, 105), (48, 48, 50), (88, 70, 55)),
}
_SKIN = ((250, 215, 185), (235, 190, 155), (205, 155, 115), (160, 110, 78), (115, 75, 52))
_HAIR = ((40, 28, 22), (85, 55, 35), (150, 105, 55), (210, 180, 110), (150, 150, 150), (25, 22, 25))
_HATS = ((190, 60, 50), (50, 70, 120), (60, 60, 60), (200, 170, 90))


@dataclass(frozen=True, kw_only=True)
class Clothes:
    """Colours of one person; `top_name` is the word for the shirt."""

    top_name: str
    top: Colour
    bottom: Colour
    skin: Colour
    hair: Colour
    hat: bool


def dress(domain: str, rng: Generator) -> Clothes:
    """Studio wears bright shirts, street muted coats and sometimes a hat, web anything."""
    tops = {"studio": BRIGHT, "street": MUTED, "web": BRIGHT + MUTED}[domain]
    trousers = _TROUSERS.get(domain, (*_TROUSERS["studio"], *_TROUSERS["street"], (200, 195, 190), (150, 60, 60)))
    top_name, top = tops[rng.integers(len(tops))]
    hat = bool(rng.random() < {"studio": 0.0, "street": 0.35, "web": 0.25}[domain])
    hairs = _HATS if hat else _HAIR
    return Clothes(
        top_name=top_name,
        top=vary(rng, top, 18.0),
        bottom=vary(rng, trousers[rng.integers(len(trousers))], 14.0),
        skin=vary(rng, _SKIN[rng.integers(len(_SKIN))], 10.0),
        hair=vary(rng, hairs[rng.integers(len(hairs))], 10.0),
        hat=hat,
    )
