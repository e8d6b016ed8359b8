"""The main job: two domains in; a teacher's guesses, an adapted model and an honest report out."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vidshift.data.clips import CachedClips, ClipShape, LiveClips, open_clips
from vidshift.data.manifest import Manifest
from vidshift.data.view import View
from vidshift.engine.backbone import open_backbone
from vidshift.engine.batches import TrainingData
from vidshift.engine.config import RunConfig
from vidshift.engine.console import Console
from vidshift.engine.domains import Domains, open_domains
from vidshift.engine.evaluate import Predictions, Score, hits, label_indices, predict_clips, score
from vidshift.engine.files import write_json, write_text
from vidshift.engine.model import export_model
from vidshift.engine.step import Network
from vidshift.engine.teach import Taught, guesses_of, open_teacher, table_key, teach_clips
from vidshift.engine.train import Hooks, Trainer
from vidshift.methods.base import Method, methods
from vidshift.models.config import VitConfig
from vidshift.models.flops import Flops, clip_flops, full_flops
from vidshift.teachers.base import Teacher
from vidshift.teachers.table import TeacherTable
from vidshift.teachers.table_file import read_table, write_table
from vidshift.tokens.base import Reducer, reducers

SUMMARY_VERSION = 1
TABLE = "teacher.parquet"


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


@dataclass(frozen=True)
class Finished:
    """A finished run and its summary."""

    folder: Path
    summary: Mapping[str, Any]
    warnings: tuple[str, ...]
    hits_N: Tensor | None = None
    """Right or wrong for each clip of the target test, where labels tell."""


@dataclass(frozen=True)
class Prepared:
    """What a run trains and tests on, drawn, decoded and labelled by the teacher."""

    domains: Domains
    vit: VitConfig
    shape: ClipShape
    clips: "dict[str, CachedClips | LiveClips]"
    taught: Taught | None


class Adapt:
    """One run, from configuration to summary; `run` goes on from whatever a killed one has left."""

    def __init__(self, config: RunConfig, place: Place, console: Console) -> None:
        self.config, self.place, self.console = config, place, console
        self.method: Method = methods[config.method](**config.method_options)
        self.reducer: Reducer = reducers[config.reducer](**config.reducer_options)
        self.warnings: list[str] = []

    def run(self) -> Finished:
        started = time.perf_counter()
        config, place, console = self.config, self.place, self.console
        place.folder.mkdir(parents=True, exist_ok=True)
        if not (place.folder / "config.yaml").exists():
            write_text(place.folder / "config.yaml", config.as_yaml())
        ready = self.prepare()
        domains, clips, vit, shape, taught = ready.domains, ready.clips, ready.vit, ready.shape, ready.taught
        trainer = self.trainer(ready)
        network = trainer.network
        position = trainer.run(console, tensorboard=place.tensorboard)
        if config.checkpoint == "oracle" and (place.folder / "best").exists():
            from safetensors.torch import load_file

            network.load_state_dict(load_file(place.folder / "best" / "weights.safetensors"))
        network.reducer.fix()
        with console.task("evaluating", len(domains.target_test)) as task:
            predictions = predict_clips(network, clips["target test"], progress=lambda done, total: task.update(done))
        result = score(
            predictions.ids,
            predictions.probabilities_NK,
            domains.target_test,
            domains.classes,
            expected=domains.target_expected,
        )
        source = predict_clips(network, clips["source validation"])
        validation = score(source.ids, source.probabilities_NK, domains.source_val, domains.classes)
        self.warnings.extend(network.reducer.warnings())
        self.warnings.extend(self._motion_warnings(predictions, vit))
        export_model(
            place.folder / "model",
            network,
            classes=domains.classes,
            shape=shape,
            teacher=config.teacher,
            precision=config.precision,
        )
        seconds = {name: round(value, 3) for name, value in position.seconds.items()}
        seconds["evaluate"] = round(position.seconds.get("evaluate", 0.0) + predictions.seconds, 3)
        seconds["total"] = round(time.perf_counter() - started, 3)
        train_seconds = position.seconds.get("train", 0.0)
        summary = {
            "version": SUMMARY_VERSION,
            "source": config.source,
            "target_domain": config.target,
            "method": config.method,
            "reducer": config.reducer,
            "seed": config.seed,
            "steps": position.total_step,
            "checkpoint": config.checkpoint,
            "oracle_labels": self.method.source_is_target,
            "transductive": config.transductive,
            "threshold": getattr(network.reducer, "threshold", None),
            "kept_ratio": {"source": self._kept(source, vit), "target": self._kept(predictions, vit)},
            "static_clips": predictions.static_clips,
            "target": result.as_dict(),
            "source_validation": validation.as_dict(),
            "teacher": self._teacher_summary(taught, domains),
            "seconds": seconds,
            "flops_per_clip": self._flops(predictions, vit),
            "clips_per_second": round(position.counts.get("clips", 0) / train_seconds, 2) if train_seconds else None,
            "warnings": self.warnings,
        }
        write_json(place.folder / "summary.json", _finite(summary))
        hits_N = hits(predictions.ids, predictions.probabilities_NK, domains.target_test, domains.classes)
        return Finished(place.folder, summary, tuple(self.warnings), hits_N)

    def prepare(self) -> Prepared:
        """Everything before training; what is there already is used again."""
        config, place, console = self.config, self.place, self.console
        place.folder.mkdir(parents=True, exist_ok=True)
        domains = open_domains(config, cache=place.cache, workers=place.workers, console=console)
        for note in domains.notes:
            console.say(note)
        vit, shape = self._network_shape(len(domains.classes))
        clips = self._decode(domains, shape)
        return Prepared(domains, vit, shape, clips, self._teach(domains, clips))

    def trainer(self, ready: Prepared) -> Trainer:
        """The training of this run, resumed where a state was saved."""
        network = self._network(ready.vit, ready.domains)
        data = self._training_data(ready.domains, ready.clips, ready.taught)
        hooks = self._hooks(ready.domains, ready.clips)
        return Trainer(self.config, self.place.folder, network, data, hooks, resume=True)

    def _network_shape(self, classes: int) -> tuple[VitConfig, ClipShape]:
        vit = open_backbone(self.config.backbone, frames=self.config.frames).config
        vit = vit.with_(classes=classes, drop_path=self.config.drop_path)
        g = vit.geometry
        return vit, ClipShape(frames=g.frames, height=g.height, width=g.width)

    def _decode(self, domains: Domains, shape: ClipShape) -> dict[str, "CachedClips | LiveClips"]:
        parts: dict[str, Manifest] = {
            "source": domains.source_train,
            "source validation": domains.source_val,
            "target": domains.target_train,
            "target test": domains.target_test,
        }
        total = sum(len(part) for part in parts.values())
        done, clips = 0, {}
        with self.console.task("decoding", total) as task:
            for name, manifest in parts.items():
                before = done
                clips[name] = open_clips(
                    manifest,
                    shape,
                    cache=self.place.clip_cache or self.place.cache,
                    limit_bytes=self.place.cache_limit_bytes,
                    workers=self.place.workers,
                    progress=lambda n, _, before=before: task.update(before + n),
                )
                done += len(manifest)
                task.update(done)
        return clips

    @property
    def _wants_table(self) -> bool:
        named = {name for stage in self.method.stages() for name in stage.data}
        return bool(named & {"table", "probabilities"}) or self.method.name == "zero-shot"

    def _teach(self, domains: Domains, clips: Mapping[str, "CachedClips | LiveClips"]) -> Taught | None:
        if not self._wants_table:
            return None
        config, path = self.config, self.place.folder / TABLE
        from vidshift.teachers.report import report

        if path.exists():
            table = read_table(path, classes=domains.classes).filter(config.gamma)
            taught = Taught(table, report(table, asked=len(clips["target"]), gamma=config.gamma))
        else:
            teacher = open_teacher(config.teacher, device=self.place.device)
            tables = (self.place.clip_cache or self.place.cache) / "teacher"
            key = table_key(teacher.card, domains.target_train, clips["target"])
            taught = teach_clips(
                teacher,
                clips["target"],
                domains.classes,
                gamma=config.gamma,
                work=self.place.folder / "teaching",
                console=self.console,
                known=tables / f"{key}{path.suffix}",
            )
            write_table(taught.table, path)
        for warning in taught.report.warnings():
            self.warnings.append(warning)
            self.console.say(f"Note: {warning}")
        return taught

    def _network(self, vit: VitConfig, domains: Domains) -> Network:
        config = self.config
        net = open_backbone(config.backbone, frames=config.frames).build(vit, seed=config.seed)
        generator = torch.Generator().manual_seed(config.seed)
        self.method.build(width=vit.width, classes=len(domains.classes), generator=generator)
        teach: Callable[[View], Tensor] | None = None
        if self.method.name == "zero-shot":
            teacher = open_teacher(config.teacher, device=self.place.device)
            teach = partial(_ask, teacher, domains.classes)
        network = Network(
            net, self.method, self.reducer, classes=len(domains.classes), precision=config.precision, teach=teach
        )
        return network.to(self.place.device)

    def _training_data(
        self, domains: Domains, clips: Mapping[str, "CachedClips | LiveClips"], taught: Taught | None
    ) -> TrainingData:
        if self.method.source_is_target:
            labels_N = label_indices(domains.target_truth, domains.classes)
            return TrainingData(clips["target"], labels_N, target=clips["source"])
        labels_N = label_indices(domains.source_train, domains.classes)
        guesses = None if taught is None else guesses_of(taught.table, clips["target"].ids)
        return TrainingData(clips["source"], labels_N, clips["target"], guesses)

    def _hooks(self, domains: Domains, clips: Mapping[str, "CachedClips | LiveClips"]) -> Hooks:
        def on(name: str, manifest: Manifest, network: Network) -> Score:
            found = predict_clips(network, clips[name])
            return score(found.ids, found.probabilities_NK, manifest, domains.classes)

        def validate(network: Network) -> Mapping[str, Any]:
            result = on("source validation", domains.source_val, network)
            return {"source_validation_accuracy": result.accuracy, "source_validation_confidence": result.confidence}

        def oracle(network: Network) -> float:
            return on("target test", domains.target_test, network).accuracy or 0.0

        return Hooks(validate, oracle if self.config.checkpoint == "oracle" else None)

    def _teacher_summary(self, taught: Taught | None, domains: Domains) -> dict[str, Any] | None:
        if taught is None:
            return None
        return {
            "name": self.config.teacher,
            "accuracy": table_accuracy(taught.table, domains.target_truth, domains.classes),
            "kept_accuracy": table_accuracy(_kept_rows(taught.table), domains.target_truth, domains.classes),
            "coverage": taught.report.coverage,
            "gamma": self.config.gamma,
        }

    def _kept(self, predictions: Predictions, vit: VitConfig) -> float | None:
        if not len(predictions.kept_N):
            return None
        return round(float(predictions.kept_N.double().mean()) / vit.geometry.tokens, 6)

    def _flops(self, predictions: Predictions, vit: VitConfig) -> dict[str, float] | None:
        if not len(predictions.kept_N):
            return None
        total = sum((clip_flops(vit, [n]) for n in predictions.kept_N.tolist()), Flops(0.0, 0.0))
        mean, full = total * (1 / len(predictions.kept_N)), full_flops(vit)
        return {
            "true": mean.true,
            "paper": mean.paper,
            "true_full": full.true,
            "paper_full": full.paper,
            "true_ratio": round(mean.true / full.true, 6),
        }

    def _motion_warnings(self, predictions: Predictions, vit: VitConfig) -> list[str]:
        """What can be told without a label: masks that no longer select."""
        if self.config.reducer not in ("lmft", "motion") or not len(predictions.kept_N):
            return []
        kept = self._kept(predictions, vit) or 0.0
        said = []
        if kept > 0.95:
            said.append(
                f"{kept:.0%} of the target's tokens move more than the threshold, as with a camera that moves: motion "
                "tokens save little here; try --reducer motion-topk or none."
            )
        if predictions.static_clips:
            said.append(
                f"{predictions.static_clips} of {len(predictions.ids)} target clips are static and keep their first "
                "segment only."
            )
        return said


def _ask(teacher: Teacher, classes: tuple[str, ...], view: View) -> Tensor:
    return teacher.probabilities(view, classes)


def table_accuracy(table: TeacherTable, truth: Manifest, classes: tuple[str, ...]) -> float | None:
    """How often a teacher table is right, where labels exist to tell."""
    if not truth.labelled or not len(table):
        return None
    probabilities_NK = torch.zeros(len(table), len(classes))
    probabilities_NK[torch.arange(len(table)), torch.from_numpy(table.label_N)] = 1.0
    return score(table.ids, probabilities_NK, truth, classes).accuracy


def _kept_rows(table: TeacherTable) -> TeacherTable:
    kept = [
        name for name, keep in zip(table.ids, table.kept_N if table.kept_N is not None else [], strict=False) if keep
    ]
    return table.for_ids(kept) if kept else replace(table, ids=(), labels=())


def _finite(value: Any) -> Any:
    """JSON knows no NaN: an undefined number is null."""
    if isinstance(value, Mapping):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value != value:
        return None
    return value
