"""Training and prediction over folders that hold every kind of odd file: all of it completes, and says what it left."""

import json
from pathlib import Path

import pytest
from clipmaker import write_numbers
from odd_videos import KINDS, make_all

from vidshift.data.status import is_usable
from vidshift.engine.adapt import Adapt, Place
from vidshift.engine.config import RunConfig
from vidshift.engine.console import Quiet
from vidshift.engine.predict import Failure, Guess, Predictor, videos_in

GOOD = {kind.name for kind in KINDS if is_usable(kind.status)}
BAD = {kind.name for kind in KINDS} - GOOD


class Ears(Quiet):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def say(self, text: str) -> None:
        self.heard.append(text)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_all(tmp_path_factory.mktemp("target"))


@pytest.fixture(scope="module")
def run(target: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ears]:
    here = tmp_path_factory.mktemp("run")
    for label, codec in (("walk", "libx264"), ("wave", "mpeg4")):
        for number in range(4):
            write_numbers(here / "source" / label / f"{number}.mp4", 40 + number, codec=codec)
        (here / "source" / label / "page.mp4").write_text("<html>")
    config = RunConfig(
        source=str(here / "source"), target=str(target), method="source-only", reducer="motion", backbone="small",
        epochs=1, batch=4, frames=4,
    )  # fmt: skip
    ears = Ears()
    Adapt(config, Place(folder=here / "run", cache=here / "cache", workers=2), ears).run()
    return here / "run", ears


def test_training_skips_what_is_bad_and_says_how_many(run: tuple[Path, Ears]):
    folder, ears = run
    summary = json.loads((folder / "summary.json").read_text())
    found, expected = summary["target"]["found"], summary["target"]["expected"]
    assert 0 < found < expected
    (source_note, target_note) = [text for text in ears.heard if "cannot be used" in text]
    assert source_note.startswith("2 of 10 videos cannot be used and are skipped (2 not-a-video)")
    assert target_note.startswith(f"{len(BAD)} of {len(KINDS)} videos cannot be used and are skipped")


def test_prediction_names_what_it_cannot_read_and_goes_on(run: tuple[Path, Ears], target: Path):
    folder, _ = run
    found = list(Predictor.open(folder).predict_many(videos_in([target]), workers=2, window=0))
    guessed = {Path(guess.path).name for guess in found if isinstance(guess, Guess)}
    failed = {Path(failure.path).name for failure in found if isinstance(failure, Failure)}
    # A single picture has no motion to learn from, but it can be looked at.
    assert guessed == GOOD | {"one.mp4"}
    assert failed == BAD - {"one.mp4"}
    assert [Path(entry.path).name for entry in found] == [path.name for path in videos_in([target])]


def test_windows_of_one_video_fail_once(run: tuple[Path, Ears], target: Path):
    folder, _ = run
    names = ["page.mp4", "good.mp4", "cut.mkv"]
    found = list(Predictor.open(folder).predict_many([target / name for name in names], window=1.0))
    assert [type(entry).__name__ for entry in found] == ["Failure", "Guess", "Guess", "Guess", "Failure"]
    assert [(entry.start, entry.end) for entry in found if isinstance(entry, Guess)] == [
        (0.0, 1.0),
        (1.0, 2.0),
        (1.4, 2.4),
    ]
