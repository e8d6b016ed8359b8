"""Makes `stick-backbone`: a small video transformer pretrained by masked video modelling on unlabelled `web` clips.

`--probe FOLDER` only measures: a linear probe on web labels, beside one of freshly drawn weights.
"""

import argparse
import json
import shlex
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from standin import SHAPE, Web, console, parser, plan_in, start, web, write_record

from vidshift.data.clips import CachedClips, LiveClips
from vidshift.data.loader import GRID
from vidshift.engine.console import Console
from vidshift.engine.evaluate import label_indices
from vidshift.engine.fit import Fit, Plan, summary_of
from vidshift.engine.log import read_metrics
from vidshift.engine.looks import open_frames
from vidshift.engine.pretrain import Recipe, new_model, step_loss
from vidshift.engine.probe import fine_tune, pooled_features, probe
from vidshift.models.checkpoint import load_model, save_model
from vidshift.models.config import PRESETS
from vidshift.models.masked import DecoderShape, begin
from vidshift.models.vit import VideoTransformer

PROBE_CLIPS = 2000
TUNE_CLIPS = 640


def main() -> None:
    made = parser(__doc__ or "")
    made.add_argument("--mask", type=float, default=0.9, help="share of the patches that is hidden")
    made.add_argument("--target", choices=("pixels", "motion"), default="pixels", help="what is painted")
    made.add_argument("--difference", type=float, default=6.0, help="strength of the filters that begin as motion")
    made.add_argument("--measure", action=argparse.BooleanOptionalAction, default=True, help="probe and fine-tune")
    made.add_argument("--batch", type=int, default=64)
    made.add_argument("--lr", type=float, default=1e-3)
    made.add_argument("--decoder-width", type=int, default=96)
    made.add_argument("--decoder-depth", type=int, default=2)
    made.add_argument(
        "--probe-clips", type=int, default=PROBE_CLIPS, help="labelled web clips that a probe learns from"
    )
    made.add_argument("--probe", type=Path, metavar="FOLDER", help="only probe the backbone in this folder")
    options = made.parse_args()
    if options.probe is not None:
        options.draw_only = True
    device, say = start(options), console()
    train, val = web("train", options.clips, options, say), web("val", options.val_clips, options, say)
    if options.probe is not None:
        net, _ = load_model(options.probe, device=device)
        print(json.dumps(probed(net, train, val, options.probe_clips, say)))
        return
    if options.draw_only:
        return
    recipe = Recipe(
        mask=options.mask,
        target=options.target,
        decoder=DecoderShape(width=options.decoder_width, depth=options.decoder_depth),
        batch=options.batch,
        seed=options.seed,
    )
    encoder = VideoTransformer(PRESETS["small"], seed=options.seed)
    model = new_model(encoder, recipe)
    begin(model, encoder, seed=options.seed, difference=options.difference)
    model = model.to(device)
    store = open_frames(train[1], device)
    loss = step_loss(model, store, recipe, per_clip=GRID * SHAPE.frames)
    work = options.out.with_name(f"{options.out.name}.work")
    plan = plan_in(work, options, model, loss, Plan(steps=1, lr=options.lr), say)
    fit = Fit(model, plan, work, name="pretraining", go_on="the same command goes on")
    position = fit.run(loss, say)
    options.out.mkdir(parents=True, exist_ok=True)
    save_model(options.out, model.encoder)
    numbers = {
        "recipe": asdict(recipe),
        "web": {"train": len(train[0]), "val": len(val[0]), "data_seed": options.data_seed},
        **summary_of(position, plan, read_metrics(work / "metrics.jsonl")),
        "passes": round(position.total_step * recipe.batch / len(train[0]), 1),
        "difference": options.difference,
    }
    if options.measure:
        numbers |= {
            "probe": probed(model.encoder, train, val, options.probe_clips, say),
            "fine_tuned": tuned(model.encoder, train, val, say),
        }
    record = write_record(options.out, shlex.join(["python", *sys.argv]), numbers)
    shutil.rmtree(work)
    print(json.dumps(record))


def probed(net: VideoTransformer, train: Web, val: Web, count: int, say: Console) -> dict[str, Any]:
    """A linear probe of the pretrained network, and of the weights it could have begun with."""
    few = replace(train[0], rows=train[0].rows[:count])
    shown = first_clips(train[1], len(few))
    labels, truth = label_indices(few, few.classes), label_indices(val[0], few.classes)
    device = next(net.parameters()).device
    fresh = VideoTransformer(net.config, seed=0).to(device)
    found: dict[str, Any] = {}
    for name, network in (("pretrained", net), ("random", fresh)):
        result = probe(
            pooled_features(network, shown), labels, pooled_features(network, val[1]), truth, classes=len(few.classes)
        )
        found[name] = {key: round(value, 4) for key, value in asdict(result).items()}
        say.say(f"linear probe, {name}: {result.accuracy:.1%} of {result.test_clips} web val clips")
    return found


def tuned(net: VideoTransformer, train: Web, val: Web, say: Console) -> dict[str, float]:
    """What the backbone is for: fine-tuned on as many labelled clips, and for as long, as a run on two domains."""
    few = replace(train[0], rows=train[0].rows[:TUNE_CLIPS])
    labels, truth = label_indices(few, few.classes), label_indices(val[0], few.classes)
    found: dict[str, float] = {}
    fresh = VideoTransformer(net.config, seed=0).to(next(net.parameters()).device)
    for name, network in (("pretrained", net), ("random", fresh)):
        found[name] = round(fine_tune(network, first_clips(train[1], len(few)), labels, val[1], truth), 4)
        say.say(f"fine-tuned on {len(few)} web clips, {name}: {found[name]:.1%} of {len(truth)} web val clips")
    return found


class first_clips:
    """The first clips of a longer row."""

    def __init__(self, clips: CachedClips | LiveClips, count: int) -> None:
        self._clips = clips
        self.frames, self.ids = clips.frames, clips.ids[:count]

    def __len__(self) -> int:
        return len(self.ids)

    def grid_THWC(self, index: int):  # as `data.loader.Clips` says
        return self._clips.grid_THWC(index)


if __name__ == "__main__":
    main()
