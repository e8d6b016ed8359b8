"""What a run stands on: the network's shape, decoded clips, the method and reducer, and what training may see."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from vidshift.data.clips import CachedClips, ClipShape, LiveClips, open_clips
from vidshift.data.manifest import Manifest
from vidshift.data.view import View
from vidshift.engine.backbone import Backbone, open_backbone
from vidshift.engine.batches import TrainingData
from vidshift.engine.config import RunConfig
from vidshift.engine.console import Console
from vidshift.engine.domains import Domains
from vidshift.engine.evaluate import label_indices
from vidshift.engine.options import options_of
from vidshift.engine.step import Network
from vidshift.engine.teach import Taught, guesses_of
from vidshift.errors import UserError
from vidshift.methods.base import Method, methods
from vidshift.teachers.base import Teacher
from vidshift.tokens.base import Reducer, reducers

DecodedClips = CachedClips | LiveClips


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a run happens: what differs between machines, not between runs."""

    folder: Path
    cache: Path
    clip_cache: Path | None = None
    """Where decoded clips and teacher tables go, if not into `cache`."""
    workers: int = 2
    device: str = "cpu"
    cache_limit_bytes: int = 8 * 2**30
    tensorboard: bool = False

    @property
    def decoded(self) -> Path:
        return self.clip_cache or self.cache


@dataclass(frozen=True)
class Clips:
    """The decoded clips of a run's four parts."""

    source: DecodedClips
    validation: DecodedClips
    target: DecodedClips
    test: DecodedClips


def check_device(device: str) -> torch.device:
    """A device that is really there."""
    try:
        found = torch.device(device)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise UserError(f"cannot compute on the device {device!r} ({reason}); try --device cpu.", usage=True) from None
    return found


def build_method(config: RunConfig) -> Method:
    return methods[config.method](**config.method_options)


def build_reducer(config: RunConfig) -> Reducer:
    """What a reducer draws follows from the run's seed, unless it was given one of its own."""
    made, options = reducers[config.reducer], dict(config.reducer_options)
    if "seed" in options_of(made):
        options.setdefault("seed", config.seed)
    return made(**options)


def network_shape(config: RunConfig) -> tuple[Backbone, ClipShape]:
    backbone = open_backbone(
        config.backbone, frames=config.frames, size=config.size or None, options=config.backbone_options
    )
    g = backbone.config.geometry
    return backbone, ClipShape(frames=g.frames, height=g.height, width=g.width)


def decode(domains: Domains, shape: ClipShape, place: Place, console: Console) -> Clips:
    parts: dict[str, Manifest] = {
        "source": domains.source_train,
        "validation": domains.source_val,
        "target": domains.target_train,
        "test": domains.target_test,
    }
    done, clips = 0, {}
    with console.task("decoding", sum(len(part) for part in parts.values())) as task:
        for name, manifest in parts.items():
            before = done
            clips[name] = open_clips(
                manifest,
                shape,
                cache=place.decoded,
                limit_bytes=place.cache_limit_bytes,
                workers=place.workers,
                progress=lambda n, _, before=before: task.update(before + n),
            )
            done += len(manifest)
            task.update(done)
    return Clips(**clips)


def build_network(
    config: RunConfig,
    backbone: Backbone,
    method: Method,
    reducer: Reducer,
    classes: tuple[str, ...],
    *,
    teacher: Teacher | None,
    device: torch.device,
) -> Network:
    """The pretrained network with fresh heads, all from the run's seed."""
    vit = backbone.config.with_(classes=len(classes), drop_path=config.drop_path)
    net = backbone.build(vit, seed=config.seed)
    method.build(width=vit.width, classes=len(classes), generator=torch.Generator().manual_seed(config.seed))
    teach: Callable[[View], Tensor] | None = None if teacher is None else partial(_ask, teacher, classes)
    network = Network(net, method, reducer, classes=len(classes), precision=config.precision, teach=teach)
    return network.to(device)


def _ask(teacher: Teacher, classes: tuple[str, ...], view: View) -> Tensor:
    return teacher.probabilities(view, classes)


def training_data(method: Method, domains: Domains, clips: Clips, taught: Taught | None) -> TrainingData:
    if method.source_is_target:
        labels_N = label_indices(domains.target_truth, domains.classes)
        return TrainingData(clips.target, labels_N, target=clips.source)
    labels_N = label_indices(domains.source_train, domains.classes)
    guesses = None if taught is None else guesses_of(taught.table, clips.target.ids)
    return TrainingData(clips.source, labels_N, clips.target, guesses)
