"""What a run is about, found and decoded before anything is trained: its data, its network and its teacher."""

from dataclasses import dataclass
from functools import cached_property

import torch

from vidshift.data.classes import ClassList
from vidshift.data.clips import ClipShape
from vidshift.data.layouts import class_list
from vidshift.data.manifest import Manifest
from vidshift.engine.backbone import Backbone
from vidshift.engine.check import examiner
from vidshift.engine.config import RunConfig
from vidshift.engine.console import Console
from vidshift.engine.defaults import hub_id_of, saying
from vidshift.engine.domains import Domains, is_built_in, open_domains
from vidshift.engine.prepare import Clips, Place, decode, network_shape
from vidshift.engine.teach import fitted, open_any_teacher, prompts_of
from vidshift.errors import UserError
from vidshift.models.hub import download_needed
from vidshift.teachers.base import Teacher, TeacherSpec
from vidshift.teachers.hub import WAYS_OUT
from vidshift.teachers.lookup import TableTeacher
from vidshift.teachers.prompts import Prompts


@dataclass(frozen=True)
class Looked:
    """`teacher` is None where the method asks none, its table is there already, or it has to be trained first."""

    domains: Domains
    backbone: Backbone
    shape: ClipShape
    clips: Clips
    teacher: Teacher | None


class Looking:
    """Data is read before anything is downloaded: a wrong folder is told at once."""

    def __init__(self, config: RunConfig, place: Place, console: Console, *, asks: bool, device: torch.device) -> None:
        self.config, self.place, self.console, self.asks, self.device = config, place, console, asks, device

    def look(self) -> Looked:
        config, place, console = self.config, self.place, self.console
        if is_built_in(config.source) and is_built_in(config.target):
            _ = self.opened
        domains = open_domains(config, cache=place.cache, workers=place.workers, console=console, examine=self._examine)
        if config.checkpoint == "oracle" and not domains.target_test.labelled:
            raise UserError("--checkpoint oracle needs a labelled target test set; take --checkpoint last.", usage=True)
        (backbone, shape), teacher = self.opened
        if teacher is not None:
            ids = dict.fromkeys(row.id for part in (domains.target_train, domains.target_test) for row in part.rows)
            teacher = fitted(teacher, list(ids), domains.classes, origin=config.teacher)
            if config.method == "zero-shot":
                _knows_all(teacher, domains.target_test, origin=config.teacher)
        for line in domains.notes:
            console.say(line)
        return Looked(domains, backbone, shape, decode(domains, shape, place, console), teacher)

    def _examine(self, name: str, manifest: Manifest) -> Manifest:
        (_, shape), _ = self.opened
        look = examiner(shape, cache=self.place.cache, workers=self.place.workers, console=self.console)
        return look(name, manifest)

    @cached_property
    def opened(self) -> tuple[tuple[Backbone, ClipShape], Teacher | None]:
        """The network and the teacher, downloaded where they have to be; what that fetches is said before."""
        config = self.config
        for line in saying(backbone=config.backbone, teacher=config.teacher if self.asks else None):
            self.console.say(line)
        network = self._network()
        report = network[0].report
        for line in report.lines() if report is not None else ():
            self.console.say(line)
        spec = TeacherSpec.parse(config.teacher)
        if not self.asks or (spec.kind == "source" and spec.where is None):
            return network, None
        return network, open_any_teacher(spec, prompts=prompts_for(config), device=self.device)

    def _network(self) -> tuple[Backbone, ClipShape]:
        config = self.config
        try:
            return network_shape(config)
        except UserError as error:
            other = hub_id_of(config.teacher) if self.asks else None
            if other is None or download_needed(config.backbone) is None or download_needed(other) is None:
                raise
            raise UserError(
                f"{str(error).rstrip('.')}; nor is the teacher {other} on this machine: {WAYS_OUT}.", usage=error.usage
            ) from error


def _knows_all(teacher: Teacher, test: Manifest, *, origin: str) -> None:
    """Where the teacher itself is tested, a table must have an answer for every test video."""
    if isinstance(teacher, TableTeacher):
        known = set(teacher.table.ids)
        unknown = [row.id for row in test.rows if row.id not in known]
        if unknown:
            raise UserError(
                f"{origin} labels {len(test) - len(unknown)} of the {len(test)} test videos (not {unknown[0]!r}), and "
                "--method zero-shot needs all of them: label the whole target, or take another method."
            )


def prompts_for(config: RunConfig) -> Prompts:
    """The run's templates, and the words for its classes from the `classes.json` of the source."""
    known: ClassList | None = None if is_built_in(config.source) else class_list(config.source)
    return prompts_of(config.teacher_options.get("templates", ()), known)
