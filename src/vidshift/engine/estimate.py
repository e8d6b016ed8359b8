"""How long a run will take here, from a few steps on a network of its own: the run's weights and draws never see it."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from vidshift.data.loader import test_view
from vidshift.engine.batches import Rows, to_device
from vidshift.engine.config import RunConfig
from vidshift.engine.evaluate import predict_clips
from vidshift.engine.learn import NotFinite, build_optimizer, learn
from vidshift.engine.looking import Looked
from vidshift.engine.prepare import Place, build_method, build_network, build_reducer, training_data
from vidshift.engine.source_teacher import config_for_source
from vidshift.engine.step import StepContext
from vidshift.engine.teach import Taught, table_key
from vidshift.engine.train import Trainer
from vidshift.errors import UserError
from vidshift.methods.base import Domain, Method, Stage
from vidshift.teachers.base import Teacher
from vidshift.teachers.lookup import TableTeacher
from vidshift.teachers.report import report
from vidshift.teachers.table import TeacherTable

STEPS = 4  # the first of them also pays for what is only made once
ENOUGH_SECONDS = 10.0
FEW_CLIPS = 4


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Seconds of a run's parts, with the settings that they depend on."""

    teacher: float
    """Guessing, and training the teacher where that is the source model."""
    training: float
    testing: float
    config: RunConfig
    device: torch.device

    @property
    def total(self) -> float:
        return self.teacher + self.training + self.testing


Agree = Callable[[Estimate | None], None]


def measure(config: RunConfig, place: Place, looked: Looked, *, device: torch.device, asks: bool) -> Estimate | None:
    """None where a few steps with made-up guesses fail, which says nothing of the run itself."""
    with torch.random.fork_rng(devices=[]):
        try:
            trainer = _trainer(config, place, looked, device)
            training, testing = _training(trainer), _testing(trainer, looked)
            teacher = _teaching(config, place, looked, device) if asks else 0.0
        except (UserError, NotFinite):
            return None
    return Estimate(teacher=teacher, training=training, testing=testing, config=config, device=device)


def _trainer(config: RunConfig, place: Place, looked: Looked, device: torch.device) -> Trainer:
    """A network with a method and a reducer of its own; guesses are made up, and all of them are kept."""
    method, classes = build_method(config), looked.domains.classes
    network = build_network(
        config, looked.backbone, method, build_reducer(config), classes, teacher=looked.teacher, device=device
    )
    taught = pretend(looked.clips.target.ids, classes)
    data = training_data(method, looked.domains, looked.clips, taught)
    return Trainer(config, place.folder / "nowhere", network, data)


def pretend(ids: Sequence[str], classes: Sequence[str]) -> Taught:
    """A sure guess for every clip, each class in turn."""
    table = TeacherTable(
        ids=tuple(ids),
        labels=tuple(classes[place % len(classes)] for place in range(len(ids))),
        confidence_N=torch.ones(len(ids)).numpy(),
        classes=tuple(classes),
    ).filter(0.0)
    return Taught(table, report(table))


def _training(trainer: Trainer) -> float:
    return sum(_stage_seconds(trainer, stage) for stage in trainer.stages)


def _stage_seconds(trainer: Trainer, stage: Stage) -> float:
    network, steps = trainer.network, trainer.stage_steps(stage)
    per_epoch = 0.0
    if type(network.method).on_epoch is not Method.on_epoch:
        asked = _Asked(trainer)
        network.method.on_epoch(StepContext(network, stage, 0.0, asked.predict_all))
        per_epoch = asked.seconds
    one = _seconds_of(_steps(trainer, stage), trainer.device)
    return steps * one + steps / trainer.per_epoch * per_epoch


def _steps(trainer: Trainer, stage: Stage) -> Callable[[int], object]:
    """Does the step of a number, its batch included: on a CPU both want the same cores."""
    network, batches = trainer.network, trainer.batches(stage)
    optimizer = build_optimizer(network, stage, trainer.config)
    network.train()

    def step(number: int) -> object:
        batch = to_device(batches.at(number), trainer.device)
        return learn(network, optimizer, batch, stage, progress=0.0, scale=0.1)

    return step


class _Asked:
    """Predictions of a few clips of a domain stand for those of all; the time is scaled up."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer, self.seconds = trainer, 0.0

    def predict_all(self, domain: Domain) -> tuple[Sequence[str], Tensor]:
        data = self._trainer.data
        clips = data.source if domain == "source" else data.target
        assert clips is not None
        few = Rows(clips, torch.arange(min(FEW_CLIPS, len(clips))))
        found = predict_clips(self._trainer.network, few)
        self.seconds += found.seconds / len(few) * len(clips)
        repeated_N = torch.arange(len(clips)) % len(few)
        return list(clips.ids), found.probabilities_NK[repeated_N]


def _testing(trainer: Trainer, looked: Looked) -> float:
    """The source's validation clips after each epoch and at the end, the target's test clips at the end (for an
    oracle choice, after each epoch too)."""
    clips, config = looked.clips, trainer.config
    few = Rows(clips.validation, torch.arange(min(FEW_CLIPS, len(clips.validation))))
    each = _seconds_of(lambda _: predict_clips(trainer.network, few), trainer.device, most=2) / len(few)
    epochs = trainer.total_steps / trainer.per_epoch
    tests = 1 + (epochs if config.checkpoint == "oracle" else 0)
    return each * (len(clips.validation) * (1 + epochs) + len(clips.test) * tests)


def _teaching(config: RunConfig, place: Place, looked: Looked, device: torch.device) -> float:
    clips, teacher = looked.clips.target, looked.teacher
    if teacher is None:  # the source model, which has to be trained first
        own = _trainer(config_for_source(config), place, replace(looked, teacher=None), device)
        few = Rows(clips, torch.arange(min(FEW_CLIPS, len(clips))))
        each = _seconds_of(lambda _: predict_clips(own.network, few), device, most=2) / len(few)
        return _training(own) + _testing(own, looked) + each * len(clips)
    if isinstance(teacher, TableTeacher) or known_table(teacher, place, looked).exists():
        return 0.0
    return _guess_seconds(teacher, looked) * len(clips)


def _guess_seconds(teacher: Teacher, looked: Looked) -> float:
    """Of one clip."""
    clips, classes = looked.clips.target, looked.domains.classes
    view = test_view(clips, range(min(2, len(clips))))
    return _seconds_of(lambda _: teacher.probabilities(view, classes), torch.device("cpu"), most=2) / len(view)


def known_table(teacher: Teacher, place: Place, looked: Looked) -> Path:
    """Where this teacher's guesses about these clips are kept for other runs."""
    key = table_key(teacher.card, looked.domains.target_train, looked.clips.target)
    return place.decoded / "teacher" / f"{key}.parquet"


def _seconds_of(work: Callable[[int], object], device: torch.device, *, most: int = STEPS) -> float:
    """The median of a few calls without the first; a slow first one is enough."""
    found: list[float] = []
    while len(found) < most and sum(found) < ENOUGH_SECONDS:
        started = time.perf_counter()
        work(len(found))
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        found.append(time.perf_counter() - started)
    return statistics.median(found[1:] or found)
