"""Makes `stick-teacher`: a small CLIP trained contrastively on single `web` frames and their captions.

It never sees `studio` or `street`. Its temperature is fitted, and its capacity was chosen, on `web` validation alone.
`--check FOLDER` only measures: accuracy and calibration on `web` clips, through the code that every CLIP goes through.
"""

import json
import shlex
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from drawn import DrawnClips, draw_all
from standin import Web, console, parser, plan_in, start, web, write_record
from torch import Tensor, nn

from vidshift.data.loader import test_view
from vidshift.data.stickworld.draw import SIZE
from vidshift.data.stickworld.figure import JOINTS
from vidshift.data.stickworld.numbered import Series
from vidshift.data.wordings import WORDINGS
from vidshift.engine.console import Console
from vidshift.engine.evaluate import label_indices
from vidshift.engine.fit import Fit, Plan, summary_of
from vidshift.engine.log import read_metrics
from vidshift.engine.looks import Ahead, Crop, Look, Looks, open_frames
from vidshift.models.motion_signature import unexplained
from vidshift.teachers.bpe import make_tokenizer
from vidshift.teachers.captioned import CaptionTable
from vidshift.teachers.clip import ClipTeacher
from vidshift.teachers.contrast import best_temperature, calibration, contrastive_loss
from vidshift.teachers.preprocess import Preprocess
from vidshift.teachers.small import LARGEST_SCALE, SmallClip, save_clip
from vidshift.teachers.zeroshot import pool_frames

CAPTIONS_EACH = 6
# Sentences that the pieces of the tokenizer are found in: the language is small, and repeats itself.
TOKENIZER_CLIPS = 4000


class Pairs(nn.Module):
    """A CLIP that is asked for its loss on a batch of pictures and captions, and for the figure's joints.

    From captions alone so small a network does not find the figure among the scenery (docs/standins.md): its patches
    must also tell which of them holds the head, a hand, a foot, and its picture vector how the figure is bent. The
    layers that tell are thrown away.
    """

    def __init__(self, clip: Any, *, joints: int, side: int, weight: float) -> None:
        super().__init__()
        self.clip, self.side, self.weight = clip, side, weight
        width = clip.config.vision_config.hidden_size
        self.point = nn.Linear(width, joints)
        self.pose = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, 2 * joints))

    def forward(
        self, pixels_BCHW: Tensor, caption_B: Tensor, ids_BL: Tensor, mask_BL: Tensor, place_BJ2: Tensor
    ) -> Tensor:
        out = self.clip(pixel_values=pixels_BCHW, input_ids=ids_BL, attention_mask=mask_BL)
        scale = self.clip.logit_scale.exp().clamp(max=LARGEST_SCALE)
        image_BD, text_BD = out.image_embeds.float(), out.text_embeds.float()
        loss = contrastive_loss(image_BD, text_BD, scale=scale, caption_B=caption_B)
        if not self.weight:
            return loss
        hidden_BPD = out.vision_model_output.last_hidden_state
        whole_BD, patch_BPD = hidden_BPD[:, 0], hidden_BPD[:, 1:]
        pointing = pointing_loss(self.point(patch_BPD).float(), place_BJ2, side=self.side)
        return loss + self.weight * (pointing + unexplained(self.pose(whole_BD), own_frame(place_BJ2)))


@torch.no_grad()
def spread(clip: Any, pixels_BCHW: Tensor, ids_BL: Tensor, mask_BL: Tensor) -> None:
    """Takes out of both projections what all pictures, and all sentences, have in common before any training.

    Sentences of so small a language begin at a cosine of .97 to each other. Then pictures are told hardly anything by
    their captions, captions are told nothing by pictures that know nothing, and both stay where they are.
    """
    out = clip(pixel_values=pixels_BCHW, input_ids=ids_BL, attention_mask=mask_BL)
    for shared_BD, projection in (
        (out.image_embeds, clip.visual_projection),
        (out.text_embeds, clip.text_projection),
    ):
        shared_D = nn.functional.normalize(shared_BD.float().mean(dim=0), dim=0)
        projection.weight -= shared_D[:, None] @ (shared_D[None] @ projection.weight)


def pointing_loss(logits_BPJ: Tensor, place_BJ2: Tensor, *, side: int) -> Tensor:
    """Cross-entropy over patches of where each joint is, for those inside the picture; places are in [-1, 1]."""
    cell_BJ2 = ((place_BJ2 + 1) / 2 * side).floor().long()
    inside_BJ = ((cell_BJ2 >= 0) & (cell_BJ2 < side)).all(dim=2)
    patch_BJ = cell_BJ2[..., 1] * side + cell_BJ2[..., 0]
    return nn.functional.cross_entropy(logits_BPJ, patch_BJ.masked_fill(~inside_BJ, -1), ignore_index=-1)


def own_frame(place_BJ2: Tensor) -> Tensor:
    """[B, 2J]: joints seen from the hip, by the figure's own size."""
    relative_BJ2 = place_BJ2 - place_BJ2[:, JOINTS.index("hip"), None]
    return (relative_BJ2 / relative_BJ2.abs().amax(dim=(1, 2), keepdim=True)).flatten(1)


def places(clips: DrawnClips, look: Look) -> Tensor:
    """[B, J, 2]: the joints of a look's frames in [-1, 1] of what is seen after crop and mirror."""
    joints_BJ2 = torch.from_numpy(clips.joints_NTJ2[list(look.clip_B), look.frame_BT[:, 0].numpy()])
    scale_x, scale_y, centre_x, centre_y = look.box_B4.float().unbind(1)
    whole = joints_BJ2 * (2 / SIZE) - 1
    scale, centre = torch.stack([scale_x, scale_y], 1)[:, None], torch.stack([centre_x, centre_y], 1)[:, None]
    return (whole - centre) / scale


def main() -> None:
    made = parser(__doc__ or "")
    made.add_argument("--batch", type=int, default=256)
    made.add_argument("--lr", type=float, default=1e-3)
    made.add_argument("--weight-decay", type=float, default=0.1)
    made.add_argument("--patch", type=int, default=8)
    made.add_argument("--width", type=int, default=128)
    made.add_argument("--depth", type=int, default=4)
    made.add_argument("--frames", type=int, default=8, help="frames drawn of each clip, at 16 a second")
    made.add_argument("--pointing", type=float, default=1.0, help="weight of pointing at joints; 0: captions alone")
    made.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    made.add_argument("--check", type=Path, metavar="FOLDER", help="only measure the teacher in this folder")
    options = made.parse_args()
    if options.check is not None:
        options.draw_only = True
    device, say = start(options), console()
    val = web("val", options.val_clips, options, say)
    if options.check is not None:
        print(json.dumps(measured(options.check, val, device, say)))
        return
    clips, plain, turned = draw_all(
        options.cache,
        Series(domain="web", split="train", seed=options.data_seed),
        options.clips,
        frames=options.frames,
        each=CAPTIONS_EACH,
        seed=options.seed,
        workers=options.workers,
        say=say,
    )
    if options.draw_only:
        return
    prompts = [f"a video of a person {words}" for words in WORDINGS.values()]
    tokenizer = make_tokenizer(
        [*prompts, *(text for rows in (plain, turned) for row in rows[:TOKENIZER_CLIPS] for text in row)]
    )
    capacity = SmallClip(patch=options.patch, width=options.width, depth=options.depth, heads=options.width // 32)
    clip = capacity.build(tokenizer, seed=options.seed)
    side = capacity.image_size // capacity.patch
    model = Pairs(clip, joints=len(JOINTS), side=side, weight=options.pointing).to(device)
    table = CaptionTable(plain, turned, lambda texts: tokenizer(texts, padding=True, return_tensors="pt"), device)
    looks = Ahead(
        Looks(
            open_frames(clips, device),
            frames=1,
            per_clip=options.frames,
            batch=options.batch,
            seed=options.seed,
            crop=Crop(),
        )
    )
    prepare = Preprocess(resize=capacity.image_size, crop=capacity.image_size)

    def loss(step: int) -> Tensor:
        look = looks.at(step)
        caption_B, ids_BL, mask_BL = table.at(look.clip_B, look.seeds_B, look.mirrored_B)
        with torch.autocast(device.type, torch.bfloat16, enabled=options.precision == "bfloat16"):
            place_BJ2 = places(clips, look).to(device)
            return model(prepare(look.view.pixels_BTCHW[:, 0]), caption_B, ids_BL, mask_BL, place_BJ2)

    look = looks.at(0)
    _, ids_BL, mask_BL = table.at(look.clip_B, look.seeds_B, look.mirrored_B)
    spread(clip, prepare(look.view.pixels_BTCHW[:, 0]), ids_BL, mask_BL)
    # The text half stays as it was drawn: trained beside pictures that know nothing yet, it learns to say the same for
    # every sentence, which is the cheapest answer, and from then on teaches them nothing.
    for half in (clip.text_model, clip.text_projection):
        half.requires_grad_(False)
    work = options.out.with_name(f"{options.out.name}.work")
    first = Plan(steps=1, lr=options.lr, weight_decay=options.weight_decay, betas=(0.9, 0.98))
    plan = plan_in(work, options, model, loss, first, say)
    fit = Fit(model, plan, work, name="training", go_on="the same command goes on")
    position = fit.run(loss, say)
    options.out.mkdir(parents=True, exist_ok=True)
    clip = clip.cpu()
    learned = float(clip.logit_scale.detach().exp())
    save_clip(options.out, clip, tokenizer)
    with torch.no_grad():
        clip.logit_scale.fill_(torch.tensor(fitted(options.out, val, device)).log())
    save_clip(options.out, clip, tokenizer)
    numbers = {
        "capacity": asdict(capacity),
        "parameters": sum(p.numel() for p in clip.parameters()),
        "captions": {"each": CAPTIONS_EACH, "different": len(table.texts), "vocabulary": len(tokenizer)},
        "web": {"train": len(clips), "frames": options.frames, "val": len(val[0]), "data_seed": options.data_seed},
        "seed": options.seed,
        "batch": options.batch,
        "precision": options.precision,
        "pointing": options.pointing,
        **summary_of(position, plan, read_metrics(work / "metrics.jsonl")),
        "temperature": {"learned": round(learned, 3), "fitted": round(float(clip.logit_scale.detach().exp()), 3)},
        "web_val": measured(options.out, val, device, say),
    }
    record = write_record(options.out, shlex.join(["python", *sys.argv]), numbers)
    shutil.rmtree(work)
    print(json.dumps(record))


@torch.no_grad()
def similarities(teacher: ClipTeacher, val: Web, *, batch: int = 64) -> Tensor:
    """`[N, K]`: cosine similarity of each clip's test view with each class."""
    class_KD = teacher.class_embeddings(val[0].classes)
    parts = []
    for first in range(0, len(val[1]), batch):
        view = test_view(val[1], range(first, min(first + batch, len(val[1]))))
        parts.append(pool_frames(teacher.frame_embeddings(view.pixels_BTCHW)) @ class_KD.T)
    return torch.cat(parts).cpu()


def fitted(folder: Path, val: Web, device: torch.device) -> float:
    """The temperature under which the labels of web validation are most likely."""
    similarity_NK = similarities(ClipTeacher(where=str(folder), device=device), val)
    return best_temperature(similarity_NK, label_indices(val[0], val[0].classes))


def measured(folder: Path, val: Web, device: torch.device, say: Console) -> dict[str, Any]:
    """Accuracy and calibration; `crossed` fits the temperature on one half and measures on the other, both ways."""
    teacher = ClipTeacher(where=str(folder), device=device)
    similarity_NK, label_N = similarities(teacher, val), label_indices(val[0], val[0].classes)
    found = calibration((teacher.temperature * similarity_NK).softmax(dim=1), label_N)
    even_N = torch.arange(len(label_N)) % 2 == 0
    probs_NK = torch.empty_like(similarity_NK)
    for half_N in (even_N, ~even_N):
        factor = best_temperature(similarity_NK[~half_N], label_N[~half_N])
        probs_NK[half_N] = (factor * similarity_NK[half_N]).softmax(dim=1)
    crossed = calibration(probs_NK, label_N)
    say.say(f"web val: {found.accuracy:.1%} right, confidence {found.confidence:.1%}, ECE {found.error:.1%}")
    rounded = {name: None if value is None else round(value, 4) for name, value in asdict(found).items()}
    return {**rounded, "clips": len(label_N), "crossed_error": round(crossed.error, 4)}


if __name__ == "__main__":
    main()
