"""The main job: two domains in; a teacher's guesses, an adapted model and an honest report out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from vidshift.data.manifest import Manifest
from vidshift.engine.config import RunConfig
from vidshift.engine.console import BarsOnly, Console
from vidshift.engine.defaults import with_defaults
from vidshift.engine.domains import Domains
from vidshift.engine.estimate import Agree, known_table, measure
from vidshift.engine.evaluate import Score, predict_clips, score
from vidshift.engine.files import (
    LOCK,
    claimed,
    missing_folders,
    remove_leftovers,
    take_back,
    write_json,
    write_text,
)
from vidshift.engine.looking import Looked, Looking, prompts_for
from vidshift.engine.model import export_model
from vidshift.engine.outcomes import read_hits, write_predictions
from vidshift.engine.prepare import (
    Clips,
    Place,
    build_method,
    build_network,
    build_reducer,
    check_device,
    training_data,
)
from vidshift.engine.signals import Interrupted
from vidshift.engine.source_teacher import SourceTeacher, config_for_source, refuse_zero_shot
from vidshift.engine.state import Position, load_best
from vidshift.engine.step import Network
from vidshift.engine.summary import (
    SUMMARY,
    SUMMARY_VERSION,
    add_training,
    finite,
    flops_per_clip,
    kept_ratio,
    motion_warnings,
    read_summary,
    teacher_summary,
)
from vidshift.engine.teach import Taught, teach_clips
from vidshift.engine.train import Hooks, Trainer
from vidshift.teachers.report import report
from vidshift.teachers.table_file import read_table, write_table

TABLE = "teacher.parquet"
CONFIG = "config.yaml"
BEST = "best"
PREDICTIONS = "predictions.csv"
SOURCE_RUN = "source-model"
ZERO_SHOT = "zero-shot"


@dataclass(frozen=True)
class Prepared:
    """What a run trains and tests on, drawn, decoded and labelled by the teacher."""

    looked: Looked
    taught: Taught | None


@dataclass(frozen=True)
class Finished:
    """A finished run and its summary; `anew` is false where it had been finished before."""

    place: Place
    summary: Mapping[str, Any]
    hits_N: Tensor | None = None
    """Right or wrong for each clip of the target test, where labels tell."""
    anew: bool = True

    @property
    def folder(self) -> Path:
        return self.place.folder


class Adapt:
    """One run, from configuration to summary; `run` goes on from whatever a killed one has left.

    Everything that can be wrong with a call is found out while nothing but its configuration is in the run's folder,
    and then that is removed again.
    """

    def __init__(self, config: RunConfig, place: Place, console: Console, *, agree: Agree | None = None) -> None:
        """`agree` is told how long the run will take before anything is trained, and refuses by raising."""
        self.config, self.place, self.console, self._agree = with_defaults(config), place, console, agree
        self.started = time.perf_counter()
        self.device = check_device(place.device)
        self.method = build_method(config)
        self.reducer = build_reducer(config)
        self.warnings: list[str] = []
        refuse_zero_shot(self.config)

    def run(self) -> Finished:
        folder = self.place.folder
        done = read_summary(folder)
        if done is not None:
            return Finished(self.place, done, read_hits(folder / PREDICTIONS), anew=False)
        missing = missing_folders(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with claimed(folder):
            remove_leftovers(folder)
            fresh = not (folder / CONFIG).exists()
            if fresh:
                write_text(folder / CONFIG, self.config.as_yaml())
            try:
                looked = self._look_first(missing) if fresh else self._look()
                return self._work(Prepared(looked, self._teach(looked)))
            except KeyboardInterrupt:
                raise Interrupted(
                    f"stopped: go on with `vidshift adapt --resume {folder}`, which repeats only what was not saved."
                ) from None

    def _look_first(self, missing: Sequence[Path]) -> Looked:
        """A call that is refused leaves nothing behind; one that is killed while it draws or decodes can be resumed."""
        folder = self.place.folder
        try:
            looked = self._look()
            if self._agree is not None:
                self._agree(measure(self.config, self.place, looked, device=self.device, asks=self._asks_teacher))
            return looked
        except Exception:
            take_back((folder / CONFIG, folder / LOCK), missing)
            raise

    def prepare(self) -> Prepared:
        """Everything before training; what is there already is used again."""
        looked = self._look()
        self.place.folder.mkdir(parents=True, exist_ok=True)
        return Prepared(looked, self._teach(looked))

    def trainer(self, ready: Prepared) -> Trainer:
        """The training of this run, resumed where a state was saved."""
        looked, config = ready.looked, self.config
        classes = looked.domains.classes
        network = build_network(
            config, looked.backbone, self.method, self.reducer, classes, teacher=looked.teacher, device=self.device
        )
        data = training_data(self.method, looked.domains, looked.clips, ready.taught)
        return Trainer(config, self.place.folder, network, data, self._hooks(looked.domains, looked.clips))

    def _look(self) -> Looked:
        known = (self.place.folder / TABLE).exists() and self.method.name != ZERO_SHOT
        asks = self._asks_teacher and not known
        return Looking(self.config, self.place, self.console, asks=asks, device=self.device).look()

    def _work(self, ready: Prepared) -> Finished:
        config, folder, domains = self.config, self.place.folder, ready.looked.domains
        trainer = self.trainer(ready)
        position = trainer.run(self.console, tensorboard=self.place.tensorboard)
        network = trainer.network
        if config.checkpoint == "oracle" and position.best:
            reducer, weights = load_best(folder / BEST)
            network.load_state_dict(dict(weights))
            network.reducer.load_state_dict(reducer)
        network.reducer.fix()
        summary = self._evaluate(network, domains, ready.looked.clips, position)
        summary["teacher"] = teacher_summary(ready.taught, domains, name=config.teacher, gamma=config.gamma)
        add_training(summary, read_summary(folder / SOURCE_RUN))
        export_model(
            folder / "model",
            network,
            classes=domains.classes,
            shape=ready.looked.shape,
            teacher=config.teacher,
            prompts=prompts_for(config) if self.method.name == ZERO_SHOT else None,
            precision=config.precision,
            backbone=ready.looked.backbone.origin(),
        )
        summary["seconds"]["total"] = round(trainer.seconds_so_far, 3)
        summary["warnings"] = self.warnings
        summary = finite(summary)
        write_json(folder / SUMMARY, summary)
        return Finished(self.place, summary, read_hits(folder / PREDICTIONS))

    @property
    def _asks_teacher(self) -> bool:
        named = {name for stage in self.method.stages() for name in stage.data}
        return bool(named & {"table", "probabilities"}) or self.method.name == ZERO_SHOT

    def _teach(self, looked: Looked) -> Taught | None:
        if not self._asks_teacher:
            return None
        gamma, path, clips, domains = self.config.gamma, self.place.folder / TABLE, looked.clips, looked.domains
        if path.exists():
            table = read_table(path, classes=domains.classes).filter(gamma)
            taught = Taught(table, report(table, asked=len(clips.target), gamma=gamma))
        else:
            teacher = looked.teacher or self._train_source()
            taught = teach_clips(
                teacher,
                clips.target,
                domains.classes,
                gamma=gamma,
                work=self.place.folder / "teaching",
                console=self.console,
                known=known_table(teacher, self.place, looked),
            )
            write_table(taught.table, path)
        for warning in taught.report.warnings():
            self.warnings.append(warning)
            self.console.say(f"Note: {warning}")
        return taught

    def _train_source(self) -> SourceTeacher:
        """The teacher `source`: a run of its own below this one, with the same settings, resumed like any other."""
        folder = self.place.folder / SOURCE_RUN
        self.console.say(f"The teacher is the source model, a weak one: it is trained first, in {folder}.")
        config = config_for_source(self.config)
        try:
            Adapt(config, replace(self.place, folder=folder), BarsOnly(self.console)).run()
        except Interrupted as stopped:
            raise Interrupted(
                "stopped while the source model was trained, and everything is saved: go on with "
                f"`vidshift adapt --resume {self.place.folder}`.",
                signum=stopped.signum,
            ) from None
        return SourceTeacher.open(folder, device=self.device, name="source")

    def _hooks(self, domains: Domains, clips: Clips) -> Hooks:
        def on(part: Any, manifest: Manifest, network: Network) -> Score:
            found = predict_clips(network, part)
            return score(found.ids, found.probabilities_NK, manifest, domains.classes)

        def validate(network: Network) -> Mapping[str, Any]:
            result = on(clips.validation, domains.source_val, network)
            return {"source_validation_accuracy": result.accuracy, "source_validation_confidence": result.confidence}

        def oracle(network: Network) -> float:
            return on(clips.test, domains.target_test, network).accuracy or 0.0

        return Hooks(validate, oracle if self.config.checkpoint == "oracle" else None, started=self.started)

    def _evaluate(self, network: Network, domains: Domains, clips: Clips, position: Position) -> dict[str, Any]:
        config, vit = self.config, network.net.config
        with self.console.task("evaluating", len(clips.test)) as task:
            test = predict_clips(network, clips.test, progress=lambda done, total: task.update(done))
        result = score(
            test.ids, test.probabilities_NK, domains.target_test, domains.classes, expected=domains.target_expected
        )
        write_predictions(self.place.folder / PREDICTIONS, test, domains.target_test, domains.classes)
        source = predict_clips(network, clips.validation)
        validation = score(source.ids, source.probabilities_NK, domains.source_val, domains.classes)
        self.warnings.extend(network.reducer.warnings())
        self.warnings.extend(motion_warnings(config.reducer, test, vit))
        seconds = {name: 0.0 for name in ("train", "select", "wait", "evaluate")} | position.seconds
        seconds["evaluate"] += test.seconds + source.seconds
        return {
            "version": SUMMARY_VERSION,
            "source": config.source,
            "target_domain": config.target,
            "classes": list(domains.classes),
            "method": config.method,
            "reducer": config.reducer,
            "seed": config.seed,
            "steps": position.total_step,
            "checkpoint": config.checkpoint,
            "checkpoint_step": position.best.get("total_step", position.total_step),
            "oracle_labels": self.method.source_is_target,
            "transductive": config.transductive,
            "threshold": getattr(network.reducer, "threshold", None),
            "kept_ratio": {"source": kept_ratio(source, vit), "target": kept_ratio(test, vit)},
            "static_clips": test.static_clips,
            "target": result.as_dict(),
            "source_validation": validation.as_dict(),
            "seconds": {name: round(value, 3) for name, value in seconds.items()},
            "flops_per_clip": flops_per_clip(test, vit),
            "clips_per_second": _rate(position.counts.get("clips", 0), position.seconds.get("train", 0.0)),
        }


def _rate(count: float, seconds: float) -> float | None:
    return round(count / seconds, 2) if seconds else None
