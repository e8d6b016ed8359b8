"""One vocabulary for everybody's tensor names (tokens.md section 7.4).

`patch.*`, `positions`, `class`, `pre_norm.*`, `norm.*` (the encoder's last), `fc_norm.*`, `head.*`; in each block,
`blocks.0.` and so on: `norm1.*`, `qkv.*` or `q.*`, `k.*`, `v.*`, `proj.*`, `norm2.*`, `fc1.*`, `fc2.*`, `scale1` and 2.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from vidshift.errors import UserError
from vidshift.models.weights.report import LeftOut


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """How one family writes its tensors. `rules` are full matches on the name without its prefix; `dropped` names what
    is left out as (what, pattern, why), matched on the name as it is in the file."""

    family: str
    label: str
    prefixes: tuple[str, ...]
    patch: str
    """The name of the patch kernel, by which a file is recognised, and its dimensions: 5 for video, 4 for images."""
    dimensions: int
    rules: tuple[tuple[str, str], ...]
    dropped: tuple[tuple[str, str, str], ...] = ()

    def matches(self, tensors: Mapping[str, Tensor]) -> bool:
        names = [prefix + self.patch for prefix in (*self.prefixes, "")]
        return any(name in tensors and tensors[name].dim() == self.dimensions for name in names)

    def translate(self, tensors: Mapping[str, Tensor], file: str) -> tuple[dict[str, Tensor], tuple[LeftOut, ...]]:
        """The tensors under common names, and what was left out; a name that nobody knows is refused."""
        common: dict[str, Tensor] = {}
        dropped: Counter[tuple[str, str]] = Counter()
        strange: list[str] = []
        for name, tensor in tensors.items():
            reason = next(((what, why) for what, pattern, why in self.dropped if re.fullmatch(pattern, name)), None)
            if reason is not None:
                dropped[reason] += 1
                continue
            ours = self._common(name)
            if ours is None:
                strange.append(name)
            elif ours in common:
                raise UserError(f"{file} has two tensors for {name!r}; it holds more than one set of weights.")
            else:
                common[ours] = tensor
        if strange:
            more = f" and {len(strange) - 3} more" if len(strange) > 3 else ""
            raise UserError(
                f"{file} looks like {self.family} but has the unexpected {', '.join(sorted(strange)[:3])}{more}; give "
                "the weights of a plain encoder."
            )
        return common, tuple(LeftOut(what, count, why) for (what, why), count in dropped.items())

    def _common(self, name: str) -> str | None:
        for prefix in self.prefixes:
            name = name.removeprefix(prefix)
        for pattern, replacement in self.rules:
            if match := re.fullmatch(pattern, name):
                return match.expand(replacement)
        return None


_WB = r"(weight|bias)"
DECODER = ("the decoder", "only pre-training reconstructs pixels")

# VideoMAE V1 and V2 and UMT in their own repositories.
ORIGINAL = Spelling(
    family="VideoMAE",
    label="original names",
    prefixes=("encoder.",),
    patch="patch_embed.proj.weight",
    dimensions=5,
    rules=(
        (rf"patch_embed\.proj\.{_WB}", r"patch.\1"),
        (rf"blocks\.(\d+)\.norm([12])\.{_WB}", r"blocks.\1.norm\2.\3"),
        (rf"blocks\.(\d+)\.attn\.(qkv|proj)\.{_WB}", r"blocks.\1.\2.\3"),
        (r"blocks\.(\d+)\.attn\.([qv])_bias", r"blocks.\1.\2.bias"),
        (rf"blocks\.(\d+)\.mlp\.fc([12])\.{_WB}", r"blocks.\1.fc\2.\3"),
        (r"blocks\.(\d+)\.gamma_([12])", r"blocks.\1.scale\2"),
        (rf"(norm|fc_norm|head)\.{_WB}", r"\1.\2"),
        (r"pos_embed", "positions"),
    ),
    dropped=(
        (DECODER[0], r"decoder\..*|encoder_to_decoder\..*|mask_token", DECODER[1]),
        ("the alignment heads", r"clip_decoder\..*|clip_pos_embed", "only UMT's pre-training imitates CLIP"),
    ),
)

# transformers up to 4, and every file on the hub: q_bias and v_bias; in memory transformers 5 says query.bias.
HUGGING_FACE = Spelling(
    family="VideoMAE",
    label="Hugging Face names",
    prefixes=("videomae.",),
    patch="embeddings.patch_embeddings.projection.weight",
    dimensions=5,
    rules=(
        (rf"embeddings\.patch_embeddings\.projection\.{_WB}", r"patch.\1"),
        (rf"encoder\.layer\.(\d+)\.layernorm_before\.{_WB}", r"blocks.\1.norm1.\2"),
        (rf"encoder\.layer\.(\d+)\.layernorm_after\.{_WB}", r"blocks.\1.norm2.\2"),
        (rf"encoder\.layer\.(\d+)\.attention\.attention\.(q|k|v)(?:uery|ey|alue)\.{_WB}", r"blocks.\1.\2.\3"),
        (r"encoder\.layer\.(\d+)\.attention\.attention\.([qv])_bias", r"blocks.\1.\2.bias"),
        (rf"encoder\.layer\.(\d+)\.attention\.output\.dense\.{_WB}", r"blocks.\1.proj.\2"),
        (rf"encoder\.layer\.(\d+)\.intermediate\.dense\.{_WB}", r"blocks.\1.fc1.\2"),
        (rf"encoder\.layer\.(\d+)\.output\.dense\.{_WB}", r"blocks.\1.fc2.\2"),
        (rf"layernorm\.{_WB}", r"norm.\1"),
        (rf"fc_norm\.{_WB}", r"fc_norm.\1"),
        (rf"classifier\.{_WB}", r"head.\1"),
    ),
    dropped=((DECODER[0], r"decoder\..*|encoder_to_decoder\..*|mask_token", DECODER[1]),),
)

# The image half of CLIP in transformers; version 5 writes CLIPVisionModel without the prefix.
CLIP = Spelling(
    family="CLIP",
    label="Hugging Face names",
    prefixes=("vision_model.",),
    patch="embeddings.patch_embedding.weight",
    dimensions=4,
    rules=(
        (rf"embeddings\.patch_embedding\.{_WB}", r"patch.\1"),
        (r"embeddings\.position_embedding\.weight", "positions"),
        (r"embeddings\.class_embedding", "class"),
        (rf"pre_layrnorm\.{_WB}", r"pre_norm.\1"),
        (rf"encoder\.layers\.(\d+)\.layer_norm([12])\.{_WB}", r"blocks.\1.norm\2.\3"),
        (rf"encoder\.layers\.(\d+)\.self_attn\.([qkv])_proj\.{_WB}", r"blocks.\1.\2.\3"),
        (rf"encoder\.layers\.(\d+)\.self_attn\.out_proj\.{_WB}", r"blocks.\1.proj.\2"),
        (rf"encoder\.layers\.(\d+)\.mlp\.fc([12])\.{_WB}", r"blocks.\1.fc\2.\3"),
        (rf"post_layernorm\.{_WB}", r"norm.\1"),
    ),
    dropped=(
        ("the text half", r"text_model\..*|text_projection\..*|logit_scale", "a backbone reads no text"),
        ("the projection", r"visual_projection\..*", "features keep the encoder's width"),
        ("position numbers", r".*\.position_ids", "they count from 0"),
    ),
)

DINOV2 = Spelling(
    family="DINOv2",
    label="Hugging Face names",
    prefixes=("dinov2.",),
    patch="embeddings.patch_embeddings.projection.weight",
    dimensions=4,
    rules=(
        (rf"embeddings\.patch_embeddings\.projection\.{_WB}", r"patch.\1"),
        (r"embeddings\.position_embeddings", "positions"),
        (r"embeddings\.cls_token", "class"),
        (rf"encoder\.layer\.(\d+)\.norm([12])\.{_WB}", r"blocks.\1.norm\2.\3"),
        (rf"encoder\.layer\.(\d+)\.attention\.attention\.(q|k|v)(?:uery|ey|alue)\.{_WB}", r"blocks.\1.\2.\3"),
        (rf"encoder\.layer\.(\d+)\.attention\.([qkv])_proj\.{_WB}", r"blocks.\1.\2.\3"),
        (rf"encoder\.layer\.(\d+)\.attention\.(?:output\.dense|o_proj)\.{_WB}", r"blocks.\1.proj.\2"),
        (r"encoder\.layer\.(\d+)\.layer_scale([12])\.lambda1", r"blocks.\1.scale\2"),
        (rf"encoder\.layer\.(\d+)\.mlp\.fc([12])\.{_WB}", r"blocks.\1.fc\2.\3"),
        (rf"layernorm\.{_WB}", r"norm.\1"),
    ),
    dropped=(
        ("the mask token", r"(?:dinov2\.)?embeddings\.mask_token", "only pre-training hides patches"),
        ("the image head", r"classifier\..*", "it reads images of other classes"),
    ),
)

SPELLINGS = (ORIGINAL, HUGGING_FACE, CLIP, DINOV2)


def recognise(tensors: Mapping[str, Tensor], file: str) -> Spelling:
    for spelling in SPELLINGS:
        if spelling.matches(tensors):
            return spelling
    names = ", ".join(sorted(tensors)[:3])
    known = ", ".join(f"{spelling.family} ({spelling.label})" for spelling in SPELLINGS)
    raise UserError(f"{file} holds no weights that are known here (it starts with {names}); accepted: {known}.")
