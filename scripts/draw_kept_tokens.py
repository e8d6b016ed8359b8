"""Draws frames, motion differences and kept tokens of videos in three rows: the paper's qualitative figure.

    python scripts/draw_kept_tokens.py clip.mp4 other.avi --threshold 0.05 --out kept.png

Without videos it draws four clips of the built-in `street`: the picture of the README.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from vidshift.bench.figures import kept_tokens
from vidshift.data.clips import ClipShape, LiveClips
from vidshift.data.loader import GRID, test_view
from vidshift.data.manifest import Manifest, Row
from vidshift.data.stickworld.numbered import Series
from vidshift.engine.predict import videos_in
from vidshift.tokens.geometry import Geometry

STREET = (0, 3, 5, 12)


def built_in(numbers: tuple[int, ...], geometry: Geometry) -> tuple[Tensor, list[str]]:
    """Clips of street's test split, as they are drawn, and what is done in them."""
    series = Series(domain="street", split="test")
    drawn = [series.draw(number) for number in numbers]
    clips = np.stack([one.clip_THWC[1::GRID] for one in drawn])
    return torch.from_numpy(clips).permute(0, 1, 4, 2, 3).contiguous(), [one.description.action for one in drawn]


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("videos", nargs="*", type=Path)
    made.add_argument("--threshold", type=float, default=0.05)
    made.add_argument("--size", type=int, default=96, help="height and width in pixels")
    made.add_argument("--out", type=Path, default=Path("docs/images/kept-tokens.png"))
    options = made.parse_args()
    geometry = Geometry(frames=16, height=options.size, width=options.size)
    if options.videos:
        rows = tuple(Row(id=path.stem, path=path) for path in videos_in(options.videos))
        shape = ClipShape(frames=16, height=options.size, width=options.size)
        pixels = test_view(LiveClips(Manifest(rows, ()), shape), range(len(rows))).pixels_BTCHW
        titles = [row.id for row in rows]
    else:
        pixels, titles = built_in(STREET, geometry)
    figure = kept_tokens(pixels, titles, threshold=options.threshold, geometry=geometry)
    figure.savefig(options.out, dpi=80)
    plt.close(figure)
    print(options.out)


if __name__ == "__main__":
    main()
