"""Bad calls: the right exit status, one sentence that names the bad value, and nothing written or lost."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from clipmaker import number_frame, write_video
from tinyruns import draw_tiny, tiny_arguments

from vidshift import cli


class Ground:
    """A working folder with data of every kind, a finished run and one that was stopped."""

    def __init__(self, root: Path) -> None:
        self.root, self.cache = root / "work", root / "cache"
        self.root.mkdir()
        self.cache.mkdir()
        self.table = draw_tiny(self.cache)
        for name in ("empty", "one", "good", "other", "flat"):
            (self.root / name).mkdir()
        self._videos("one/walk")
        for name in ("good/walk", "good/run", "other/wolk", "other/run"):
            self._videos(name)
        self._videos("flat")
        (self.root / "notes").mkdir()
        (self.root / "notes" / "notes.txt").write_text("mine")
        (self.root / "labels.csv").write_text("name,class\na,b\n")
        assert cli.run([*tiny_arguments(self.cache, self.table, out=self.root / "done"), "--quiet"]) == 0
        shutil.copytree(self.root / "done", self.root / "stopped")
        shutil.rmtree(self.root / "stopped" / "model")
        (self.root / "stopped" / "summary.json").unlink()

    def _videos(self, name: str) -> None:
        frames = [number_frame(k, width=32, height=32) for k in range(6)]
        for number in range(3):
            write_video(self.root / name / f"{number}.mp4", [np.roll(frame, number) for frame in frames])

    def spoilt(self, run: str, file: str, change: Callable[[Path], None]) -> Path:
        """A copy of a run with one file changed."""
        copy = self.root / f"{run}-spoilt"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.root / run, copy)
        change(next(copy.glob(file)))
        return copy

    def content(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.root)): p.read_bytes() for p in self.root.rglob("*") if p.is_file()}

    def folders(self) -> set[str]:
        return {str(p.relative_to(self.root)) for p in self.root.rglob("*")}


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Ground(tmp_path_factory.mktemp("ground"))
    torch.set_num_threads(threads)


@pytest.fixture
def call(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[list[str]], tuple[int, str]]:
    """Runs the command line in the working folder, and checks what every bad call must keep to."""
    monkeypatch.chdir(ground.root)
    monkeypatch.delenv(cli.DEBUG, raising=False)

    def run(arguments: list[str]) -> tuple[int, str]:
        content, folders = ground.content(), ground.folders()
        capsys.readouterr()
        status = cli.run([*arguments, "--quiet"])
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1, captured.err
        assert captured.err.startswith("vidshift: ")
        assert "Traceback" not in captured.err
        assert "defect" not in captured.err
        assert not re.search(r"[.!?] [A-Z]", captured.err), captured.err
        assert ground.content() == content
        assert ground.folders() == folders
        return status, captured.err

    return run


ADAPT = [
    (["nowhere", "good"], 1, "'nowhere'"),
    (["good", "nowhere"], 1, "'nowhere'"),
    (["empty", "good"], 1, "no video in the folder '"),
    (["one", "good"], 1, "one class only, 'walk'"),
    (["good", "other"], 1, "'wolk' (did you mean 'walk'?)"),
    (["good", "other", "--map", "wolk=wlak"], 2, "'wlak'"),
    (["good", "other", "--map", "wolf=walk"], 2, "'wolf'"),
    (["good", "other", "--map", "wolk"], 2, "old=new"),
    (["good", "good"], 2, "both"),
    (["street", "street"], 2, "both 'street'"),
    (["studio", "good"], 2, "mixes a built-in domain"),
    (["flat", "good"], 1, "no label"),
    (["--out", "notes"], 2, "give --out another folder"),
    (["--out", "done"], 2, "--resume done, or give --out another folder"),
    (["--out", "labels.csv"], 2, "'labels.csv' is a file"),
    (["--out", "new", "--resume", "done"], 2, "--out and --resume"),
    (["--method", "joined"], 2, "unknown method 'joined' (did you mean 'joint'?)"),
    (["--reducer", "lmtf"], 2, "unknown reducer 'lmtf' (did you mean 'lmft'?)"),
    (["--reducer-option", "polcy=paper"], 2, "no option 'polcy' (did you mean 'policy'?)"),
    (["--reducer-option", "policy=papers"], 2, "'papers' (did you mean 'paper'?)"),
    (["--reducer-option", "policy"], 2, "not NAME=VALUE"),
    (["--policy", "pared"], 2, "pared"),
    (["--policy", "paired", "--reducer", "none"], 2, "'none' has no option 'policy'"),
    (["--policy", "paired", "--reducer-option", "policy=paper"], 2, "twice"),
    (["--reducer-option", "initial_threshold=1"], 2, "initial_threshold 1"),
    (["--reducer-option", "floor=0", "--reducer-option", "floor=1"], 2, "twice"),
    (["--reducer", "random", "--reducer-option", "keep=most"], 2, "cannot be 'most'"),
    (["--reducer", "motion", "--reducer-option", "threshold=0"], 2, "threshold 0"),
    (["--reducer", "motion", "--reducer-option", "threshold=1"], 2, "threshold 1"),
    (["--reducer", "motion", "--reducer-option", "threshold=1.5"], 2, "threshold 1.5"),
    (["--reducer", "motion", "--reducer-option", "threshold=nan"], 2, "threshold nan"),
    (["--reducer-option", "initial_threshold=-0.1"], 2, "initial_threshold -0.1"),
    (["--method-option", "target_weight=-1"], 2, "target_weight -1"),
    (["--gamma", "1.2"], 2, "gamma cannot be 1.2"),
    (["--gamma", "nan"], 2, "gamma cannot be nan"),
    (["--epochs", "0"], 2, "epochs cannot be 0"),
    (["--batch", "-4"], 2, "batch cannot be -4"),
    (["--lr", "0"], 2, "lr cannot be 0"),
    (["--lr", "inf"], 2, "lr cannot be inf"),
    (["--threads", "0"], 2, "--threads cannot be 0"),
    (["--workers", "-1"], 2, "--workers cannot be -1"),
    (["--frames", "5"], 2, "frames 5"),
    (["--set", "epocs=3"], 2, "'epocs' (did you mean 'epochs'?)"),
    (["--set", "sizes.train=0"], 2, "sizes.train cannot be 0"),
    (["--variant", "bias=2"], 2, "the bias 2"),
    (["--variant", "handhold"], 2, "'handhold' (did you mean 'handheld'?)"),
    (["--teacher", "stik"], 2, "'stik' (did you mean 'stick'?)"),
    (["--teacher", "nowhere.csv"], 1, "nowhere.csv"),
    (["--teacher", "labels.csv"], 1, "no column 'id'"),
    (["--backbone", "vitb"], 2, "'vitb' (did you mean 'vit-b'?)"),
    (["--backbone", "empty"], 1, "empty"),
    (["--device", "cuda:99"], 2, "'cuda:99'"),
    (["--device", "gpu"], 2, "'gpu'"),
    (["--resume", "nowhere"], 2, "'nowhere'"),
    (["--resume", "notes"], 1, "not a run folder"),
    (["--resume", "stopped", "--policy", "paper"], 2, "'paper'"),
    (["--resume", "stopped", "--epochs", "7"], 2, "epochs 2, not 7"),
    (["--resume", "stopped", "--reducer", "none"], 2, "reducer 'lmft', not 'none'"),
    (["--resume", "stopped", "street", "studio"], 2, "source 'studio', not 'street'"),
]


def words_of(value: object) -> str | None:
    return " ".join(value)[:40] if isinstance(value, list) else None


@pytest.mark.parametrize(("arguments", "status", "told"), ADAPT, ids=words_of)
def test_adapt_refuses(
    ground: Ground, call: Callable[..., tuple[int, str]], arguments: list[str], status: int, told: str
):
    # Whatever is wrongly let through stays small.
    small = [] if "--resume" in arguments else ["--set", "sizes.test=8", "--set", "sizes.val=8"]
    small += [] if {"sizes.train=0", "--resume"} & set(arguments) else ["--set", "sizes.train=8"]
    small += [] if "--workers" in arguments else ["--workers", "1"]
    found, sentence = call(["adapt", *arguments, *small, "--cache", str(ground.cache)])
    assert told in sentence
    assert found == status


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def newer(key: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        if path.suffix == ".yaml":
            path.write_text(path.read_text().replace("version: 1", "version: 99"))
            return
        path.write_text(json.dumps({**json.loads(path.read_text()), key: 99}))

    return change


def garbage(path: Path) -> None:
    path.write_bytes(b"\xff\xfe: [")


SPOILT = [
    ("adapt --resume RUN", "stopped", "config.yaml", newer("version"), "newer VidShift"),
    ("adapt --resume RUN", "stopped", "config.yaml", garbage, "not readable YAML"),
    ("adapt --resume RUN", "stopped", "config.yaml", half, "config.yaml"),
    ("adapt --resume RUN", "stopped", "state/*/state.json", newer("version"), "newer VidShift"),
    ("adapt --resume RUN", "stopped", "state/*/state.json", half, "damaged"),
    ("adapt --resume RUN", "stopped", "state/*/weights.safetensors", half, "damaged"),
    ("adapt --resume RUN", "stopped", "state/*/optimizer.safetensors", half, "damaged"),
    ("adapt --resume RUN", "stopped", "state/*/optimizer.safetensors", Path.unlink, "damaged"),
    ("adapt --resume RUN", "stopped", "teacher.parquet", half, "cannot be read as Parquet"),
    ("adapt --resume RUN", "done", "summary.json", newer("version"), "newer VidShift"),
    ("adapt --resume RUN", "done", "summary.json", half, "damaged"),
    ("predict RUN good", "done", "model/config.json", newer("format_version"), "upgrade VidShift"),
    ("predict RUN good", "done", "model/config.json", garbage, "not readable JSON"),
    ("predict RUN good", "done", "model/model.safetensors", half, "truncated"),
    ("predict RUN good", "done", "model/model.safetensors", garbage, "truncated"),
    ("predict RUN good", "stopped", "config.yaml", lambda path: None, "not finished"),
    ("evaluate RUN street", "done", "model/model.safetensors", half, "truncated"),
    ("evaluate RUN street", "done", "config.yaml", newer("version"), "newer VidShift"),
]


@pytest.mark.parametrize(("line", "run", "file", "change", "told"), SPOILT)
def test_a_damaged_or_newer_run_is_refused(
    ground: Ground,
    call: Callable[..., tuple[int, str]],
    line: str,
    run: str,
    file: str,
    change: Callable[[Path], None],
    told: str,
):
    copy = ground.spoilt(run, file, change)
    words = [copy.name if word == "RUN" else word for word in line.split()]
    cache = [] if words[0] == "predict" else ["--cache", str(ground.cache)]
    status, sentence = call([*words, *cache, "--workers", "1"])
    assert told in sentence
    assert status == 1


OTHERS = [
    (["predict", "nowhere", "good"], 2, "nowhere"),
    (["predict", "done", "nowhere.mp4"], 2, "nowhere.mp4"),
    (["predict", "done"], 2, "no video"),
    (["predict", "done", "good", "--window", "-1"], 2, "--window cannot be -1"),
    (["predict", "done", "good", "--window", "nan"], 2, "--window cannot be nan"),
    (["predict", "done", "good", "--hop", "0"], 2, "--hop cannot be 0"),
    (["predict", "done", "good", "--hop", "2", "--window", "0"], 2, "--hop needs windows"),
    (["predict", "done", "good", "--devise", "cpu"], 2, "--devise"),
    (["predict", "done", "empty"], 1, "empty holds no videos"),
    (["predict", "notes", "good"], 1, "holds no model"),
    (["evaluate", "nowhere", "street"], 2, "nowhere"),
    (["evaluate", "done", "nowhere"], 1, "'nowhere'"),
    (["evaluate", "done", "flat"], 1, "no label"),
    (["evaluate", "done", "other"], 1, "'wolk' (did you mean 'walk'?)"),
    (["evaluate", "done", "street", "--split", "tset"], 2, "'tset' (did you mean 'test'?)"),
    (["evaluate", "done", "good", "--split", "test"], 2, "no splits"),
]


@pytest.mark.parametrize(("arguments", "status", "told"), OTHERS, ids=words_of)
def test_predict_and_evaluate_refuse(
    ground: Ground, call: Callable[..., tuple[int, str]], arguments: list[str], status: int, told: str
):
    cache = ["--cache", str(ground.cache)] if arguments[0] == "evaluate" else []
    found, sentence = call([*arguments, *cache, "--workers", "1"])
    assert told in sentence
    assert found == status
