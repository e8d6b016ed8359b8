"""Makes the contact sheets of docs/stickworld.md: `python scripts/stickworld_sheets.py`.

Needs Pillow, which the development environment has through matplotlib.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from vidshift.data.stickworld.draw import draw_clip
from vidshift.data.stickworld.variant import ACTIONS, DOMAINS, Variant

OUT = Path(__file__).parent.parent / "docs" / "images"
SIZE, GAP, TITLE = 72, 2, 12
FRAMES = (1, 9, 17, 25)
COLOURS = 160
SEED = 20


def strip(domain: str, action: int, frames: tuple[int, ...], variant: Variant | None = None) -> Image.Image:
    """Some frames of one clip side by side, below the name of its action."""
    clip_THWC = draw_clip(domain, action, SEED + action, variant).clip_THWC
    sheet = Image.new("RGB", (len(frames) * (SIZE + GAP), TITLE + SIZE + GAP), "white")
    ImageDraw.Draw(sheet).text((1, 0), ACTIONS[action], fill="black")
    for column, frame in enumerate(frames):
        picture = Image.fromarray(clip_THWC[frame]).resize((SIZE, SIZE), Image.Resampling.LANCZOS)
        sheet.paste(picture, (column * (SIZE + GAP), TITLE))
    return sheet


def grid(strips: list[Image.Image], columns: int) -> Image.Image:
    pixels = [np.asarray(one) for one in strips]
    rows = [np.concatenate(pixels[first : first + columns], axis=1) for first in range(0, len(pixels), columns)]
    return Image.fromarray(np.concatenate(rows, axis=0))


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    sheets = {domain: grid([strip(domain, action, FRAMES) for action in range(8)], 2) for domain in DOMAINS}
    cue = Variant(static_cue=True)
    sheets["static-cue"] = grid([strip("street", action, FRAMES[1:2], cue) for action in range(8)], 8)
    for name, sheet in sheets.items():
        path = OUT / f"stickworld-{name}.png"
        sheet.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
