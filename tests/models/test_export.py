"""Exported files give the same predictions, also where VidShift is not."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vidshift.commands.export import export as command
from vidshift.data.clips import ClipShape
from vidshift.data.view import View
from vidshift.engine import export
from vidshift.engine.export import compare, export_run, portable_of
from vidshift.engine.model import export_model, open_model
from vidshift.engine.step import Network
from vidshift.errors import UserError
from vidshift.methods.base import methods
from vidshift.models.config import VitConfig
from vidshift.models.vit import VideoTransformer
from vidshift.tokens.base import reducers
from vidshift.tokens.geometry import Geometry
from vidshift.tokens.reducers.motion import FixedThreshold
from vidshift.tokens.seeds import clip_seeds

GEOMETRY = Geometry(frames=8, height=48, width=48)
CLASSES = ("drink", "jump", "walk")
OTHER = 0.97
SHAPE = ClipShape(frames=8, height=48, width=48)


def model(folder: Path, reducer: str = "motion", *, method: str = "joint", vit: Any = None, **options: Any) -> Path:
    """A model folder with random weights and a head that tells clips apart."""
    config = VitConfig(geometry=GEOMETRY, width=24, depth=2, heads=2, classes=3, head_scale=20.0)
    net = VideoTransformer(config.with_(**(vit or {})), seed=0)
    network = Network(net, methods[method](), reducers[reducer](**options), classes=3)
    network.reducer.fix()
    export_model(folder, network, classes=CLASSES, shape=SHAPE, teacher="stick", precision="float32")
    return folder


def clips(count: int = 5) -> View:
    """Noise in more and more cells of the picture, so that every clip keeps another count."""
    generator = torch.Generator().manual_seed(0)
    still = torch.randint(0, 256, (count, 1, 3, 48, 48), generator=generator, dtype=torch.uint8)
    pixels = still.expand(count, 8, 3, 48, 48).clone()
    noise = torch.randint(0, 256, pixels.shape, generator=generator, dtype=torch.uint8)
    for k in range(count):
        for cell in range(2 * k):
            part = (k, ..., *(slice(16 * at, 16 * at + 16) for at in divmod(cell, 3)))
            pixels[part] = noise[part]
    return View(pixels, tuple(f"clip{k}" for k in range(count)))


def own(folder: Path, view: View) -> tuple[torch.Tensor, list[int]]:
    probabilities, seen = open_model(folder).network.predict(view, clip_seeds(view.ids, run=0))
    return probabilities, seen.lengths


WITHOUT_US = """
import importlib.abc, json, sys
import numpy as np

class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "vidshift":
            raise ImportError("vidshift is blocked")

sys.meta_path.insert(0, Block())
try:
    import vidshift
except ImportError:
    pass
else:
    sys.exit("vidshift could be imported")
form, path, pixels, out, other = sys.argv[1:]
pixels, other = np.load(pixels), float(other)
if form == "torch":
    import torch
    extra = {"vidshift.json": ""}
    module = torch.export.load(path, extra_files=extra).module()
    card = json.loads(extra["vidshift.json"])
    def run(pixels, threshold):
        return [x.detach().numpy() for x in module(torch.from_numpy(pixels), torch.tensor(threshold))]
else:
    import onnxruntime
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    card = json.loads(session.get_modelmeta().custom_metadata_map["vidshift"])
    run = lambda pixels, threshold: session.run(
        ["probabilities", "kept"], {"pixels": pixels, "threshold": np.array(threshold, dtype=np.float32)}
    )
probabilities, kept = run(pixels, card["threshold"])
other_probabilities, other_kept = run(pixels[1:4], other)
assert "vidshift" not in sys.modules
found = {"probabilities": probabilities, "kept": kept, "classes": card["classes"]}
np.savez(out, **found, other_probabilities=other_probabilities, other_kept=other_kept)
"""


@pytest.mark.parametrize("form", ["torch", "onnx"])
def test_a_process_without_vidshift_predicts_the_same(
    tmp_path: Path, form: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    if form == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnxscript")
    folder, view = model(tmp_path / "run", "lmft", initial_threshold=0.3), clips()
    command(str(folder), format=form, json=True)
    said = capsys.readouterr()
    assert said.err == ""
    first, second, last = said.out.splitlines()
    written = json.loads(last)
    assert "probabilities differ by at most" in first
    assert f"is {written['threshold']:.6g}" in second
    assert len(set(written["kept"])) > 3
    assert written["difference"] <= 1e-4
    np.save(tmp_path / "pixels.npy", view.pixels_BTCHW.numpy())
    code = [sys.executable, "-I", "-c", WITHOUT_US, form, written["path"], str(tmp_path / "pixels.npy")]
    done = subprocess.run([*code, str(tmp_path / "out.npz"), str(OTHER)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "out.npz")
    expected, lengths = own(folder, view)
    assert found["kept"].tolist() == lengths
    assert len(set(lengths)) == 5
    assert np.abs(found["probabilities"] - expected.numpy()).max() <= 1e-4
    assert expected.std() > 0.05
    assert found["classes"].tolist() == list(CLASSES)
    # Another batch at another threshold: neither was fixed by the export.
    net, some = open_model(folder).network.net.eval(), view.take([1, 2, 3])
    with torch.no_grad():
        expected = net(some, reducer=FixedThreshold(threshold=OTHER)).logits_BK.softmax(-1)
    selection = FixedThreshold(threshold=OTHER).select(some, GEOMETRY, seeds_B=torch.zeros(3), training=False, net=None)
    assert found["other_kept"].tolist() == selection.kept_B.tolist() != lengths[1:4]
    assert np.abs(found["other_probabilities"] - expected.numpy()).max() <= 1e-4


@torch.no_grad()
@pytest.mark.parametrize(
    ("reducer", "options", "vit"),
    [
        ("none", {}, {}),
        ("motion", {"threshold": 0.3, "floor": 0.1}, {}),
        ("motion-topk", {"keep": 0.4}, {"norm_tokens": True, "qkv_bias": "qkv"}),
        ("lmft", {}, {"class_token": True, "pooling": "class", "positions": "learned", "pre_norm": True}),
        ("motion", {}, {"class_token": True, "layer_scale": True, "activation": "quick_gelu"}),
    ],
)
def test_portable_network_equals_the_packed_one(tmp_path: Path, reducer: str, options: Any, vit: Any) -> None:
    """Before any export: the padded form of every network and reducer that can be exported."""
    opened = open_model(model(tmp_path / "run", reducer, vit=vit, **options))
    portable, view = portable_of(opened), clips()
    threshold = torch.tensor(opened.extras["threshold"]) if portable.takes_threshold else None
    probabilities, kept = portable(view.pixels_BTCHW, threshold)
    expected, lengths = own(tmp_path / "run", view)
    assert kept.tolist() == lengths
    assert torch.allclose(probabilities, expected, atol=1e-5)


@torch.no_grad()
def test_only_the_longest_clip_is_computed(tmp_path: Path) -> None:
    """The exported graph saves the tokens it drops: its linear layers see kept tokens alone."""
    opened = open_model(model(tmp_path / "run", threshold=0.3))
    portable, view = portable_of(opened), clips()
    rows: list[int] = []
    portable.net.embedding.patch.register_forward_pre_hook(lambda _, inputs: rows.append(inputs[0].shape[0]))
    _, kept = portable(view.pixels_BTCHW, torch.tensor(0.3))
    portable(view.pixels_BTCHW[:1], torch.tensor(0.3))
    assert rows == [5 * int(kept.max()), int(kept[0])]
    assert int(kept.max()) < GEOMETRY.tokens


def test_a_file_that_differs_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model(tmp_path / "run")

    def empty(program: object, path: Path, form: str, card: object) -> None:
        path.write_bytes(b"a wrong graph")

    def wrong(pixels: torch.Tensor, value: float | None) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.full((len(pixels), 3), 1 / 3), torch.full((len(pixels),), 9)

    monkeypatch.setattr(export, "trace", lambda portable: None)
    monkeypatch.setattr(export, "write", empty)
    monkeypatch.setattr(export, "OPEN", {"torch": lambda path: (wrong, {})})
    with pytest.raises(UserError, match="so it was not kept"):
        export_run(folder, form="torch")
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]


def test_comparison_sees_other_weights_and_other_counts(tmp_path: Path) -> None:
    opened = open_model(model(tmp_path / "run"))
    threshold = opened.extras["threshold"]

    def right(pixels: torch.Tensor, value: float | None) -> tuple[torch.Tensor, torch.Tensor]:
        return portable_of(opened)(pixels, torch.tensor(value))

    def wrong(pixels: torch.Tensor, value: float | None) -> tuple[torch.Tensor, torch.Tensor]:
        probabilities, kept = right(pixels, value)
        return probabilities * 0.99, kept

    def other(pixels: torch.Tensor, value: float | None) -> tuple[torch.Tensor, torch.Tensor]:
        probabilities, kept = right(pixels, value)
        return probabilities, kept + 1

    assert compare(opened.network, right, threshold)[0] < 1e-5
    assert compare(opened.network, wrong, threshold)[0] > 1e-3
    assert compare(opened.network, other, threshold)[0] == float("inf")


def test_what_cannot_be_exported_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"the reducer 'random' cannot be exported .* accepted: lmft, motion,"):
        export_run(model(tmp_path / "random", "random"), form="torch")
    with pytest.raises(UserError, match="the method 'zero-shot' predicts with more"):
        export_run(model(tmp_path / "zero", method="zero-shot"), form="torch")
    folder = model(tmp_path / "run")
    with pytest.raises(UserError, match=r"does not end in \.onnx"):
        export_run(folder, form="onnx", out=tmp_path / "file.pt2")
    (tmp_path / "there.pt2").touch()
    with pytest.raises(UserError, match="exists; remove it"):
        export_run(folder, form="torch", out=tmp_path / "there.pt2")
    with pytest.raises(UserError, match="does not exist"):
        export_run(tmp_path / "nothing", form="torch")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'vidshift\[export\]'"):
        export_run(folder, form="onnx")
