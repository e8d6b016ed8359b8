"""`--teacher source`: a run below the run, with the same settings and no target, marked as weak in every report."""

import json
import signal
from pathlib import Path

import pytest
import torch
from nursery import Nursery
from tinyruns import assert_same_run, tiny_arguments

from vidshift.cli import run
from vidshift.data.view import View
from vidshift.engine.config import RunConfig, load_config
from vidshift.engine.source_teacher import SourceTeacher, config_for_source
from vidshift.errors import UserError
from vidshift.teachers.table_file import read_table
from vidshift.tokens.seeds import clip_seeds


@pytest.fixture(scope="module")
def taught(nursery: Nursery, tiny_cache: Path, tiny_table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "run"
    ended = nursery.run(arguments(tiny_cache, folder))
    assert ended.status == 0, ended.err
    assert "The teacher is the source model, a weak one" in ended.err
    assert "teacher alone (weak: the source model)" in ended.out
    return folder


def arguments(cache: Path, folder: Path) -> list[str]:
    return tiny_arguments(cache, Path("source"), out=folder, gamma=0)


def test_it_is_a_source_only_run_of_its_own_with_the_same_settings(taught: Path):
    own, outer = (load_config(taught / name / "config.yaml") for name in ("source-model", ""))
    assert own == config_for_source(outer)
    assert (own.method, own.checkpoint) == ("source-only", "last")
    summary = json.loads((taught / "summary.json").read_text())["teacher"]
    nested = json.loads((taught / "source-model" / "summary.json").read_text())
    assert summary["weak"] is True
    assert summary["name"] == "source"
    assert summary["steps"] == nested["steps"] > 0
    assert nested["teacher"] is None


def test_the_source_model_learns_exactly_what_a_run_of_source_only_learns(
    taught: Path, nursery: Nursery, tiny_cache: Path, tmp_path: Path
):
    plain = tmp_path / "plain"
    call = tiny_arguments(tiny_cache, Path("source"), out=plain, gamma=0, method="source-only")
    assert nursery.run(call).status == 0
    weights = "model/model.safetensors"
    assert (taught / "source-model" / weights).read_bytes() == (plain / weights).read_bytes()


def test_its_guesses_are_marked_as_its_own(taught: Path):
    table = read_table(taught / "teacher.parquet")
    assert table.card.weak
    teacher = SourceTeacher.open(taught / "source-model", name="source")
    assert teacher.card.fingerprint != ""
    assert table.card.teacher == teacher.card.teacher == "source"
    assert table.probs_NK is not None
    torch.testing.assert_close(torch.from_numpy(table.probs_NK).sum(1), torch.ones(len(table)))


@pytest.mark.parametrize(
    "plan",
    [
        {"call": "vidshift.engine.train:learn", "nth": 2},
        {"call": "vidshift.engine.adapt:teach_clips", "nth": 1},
        {"call": "vidshift.engine.adapt:export_model", "nth": 1},
        {"call": "vidshift.engine.train:learn", "nth": 6},
    ],
    ids=lambda plan: f"{plan['call'].split(':')[1]}{plan['nth']}",
)
def test_a_killed_run_goes_on_exactly(taught: Path, nursery: Nursery, tiny_cache: Path, tmp_path: Path, plan: dict):
    folder = tmp_path / "run"
    assert nursery.run(arguments(tiny_cache, folder), **plan).status == -signal.SIGKILL
    ended = nursery.run(["adapt", "--resume", str(folder), "--cache", str(tiny_cache), "--workers", "1"])
    assert ended.status == 0, ended.err
    assert_same_run(folder, taught)


def test_ctrl_c_names_the_run_and_not_the_one_below(nursery: Nursery, tiny_cache: Path, tmp_path: Path):
    folder = tmp_path / "run"
    plan = {"call": "vidshift.engine.train:learn", "nth": 2, "signal": signal.SIGINT}
    ended = nursery.run(arguments(tiny_cache, folder), **plan)
    assert ended.status == 130
    assert ended.err.splitlines()[-1].endswith(f"go on with `vidshift adapt --resume {folder}`.")


def test_only_a_model_that_saw_no_target_is_a_source_model(taught: Path):
    with pytest.raises(UserError, match="was trained by 'joint', so it is no source model"):
        SourceTeacher.open(taught)
    teacher = SourceTeacher.open(taught / "source-model")
    with pytest.raises(UserError, match="lacks 'cook'"):
        teacher.check_classes([*teacher.model.classes[:-1], "cook"])


def test_zero_shot_by_the_source_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = ["--out", str(tmp_path / "run"), "-q"]
    assert run(["adapt", "--method", "zero-shot", "--teacher", "source", *out]) == 2
    assert "take --method source-only" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    assert config_for_source(RunConfig(checkpoint="oracle")).checkpoint == "last"


def test_a_table_is_not_tested_on_videos_that_it_does_not_know(
    nursery: Nursery, tiny_cache: Path, tiny_table: Path, tmp_path: Path
):
    ended = nursery.run(tiny_arguments(tiny_cache, tiny_table, out=tmp_path / "run", method="zero-shot"))
    assert ended.status == 1
    assert "labels 0 of the 8 test videos" in ended.err
    assert not (tmp_path / "run").exists()


def test_its_probabilities_follow_the_classes_that_are_asked_about(taught: Path):
    teacher = SourceTeacher.open(taught / "source-model")
    shape, names = teacher.shape, teacher.model.classes
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (3, shape.frames, 3, shape.height, shape.width), generator=generator)
    view = View(pixels.to(torch.uint8), ("a", "b", "c"))
    plain = teacher.probabilities(view, names)
    torch.testing.assert_close(plain, teacher.network.predict(view, clip_seeds(view.ids, run=0))[0])
    turned = teacher.probabilities(view, [name.title() for name in reversed(names)])
    torch.testing.assert_close(turned, plain.flip(1))
    assert plain.std() > 0
