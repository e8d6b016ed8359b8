"""What does not fit is refused in one sentence, and nothing in a file is ever run."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from tiny_models import FRAMES, SIZE, dinov2, original_names, save, videomae

from vidshift.errors import UserError
from vidshift.models.weights import WeightsOptions, open_weights


def original() -> dict[str, torch.Tensor]:
    return original_names(videomae(hidden_size=192, num_attention_heads=3, intermediate_size=96, num_hidden_layers=2))


def refused(path: Path, **more: Any) -> str:
    with pytest.raises(UserError) as caught:
        open_weights(str(path), frames=FRAMES, size=SIZE, **more)
    said = str(caught.value)
    assert "\n" not in said
    assert str(path) in said
    assert said.endswith(".")
    return said


def saved(tmp_path: Path, content: object) -> Path:
    torch.save(content, tmp_path / "weights.pth")
    return tmp_path / "weights.pth"


class Payload:
    """Would leave a mark when unpickled."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return (os.mkdir, (self.mark,))


def test_code_in_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    path = saved(tmp_path, {"model": original(), "extra": Payload(str(mark))})
    assert "could run code" in refused(path)
    assert not mark.exists()


def test_parsed_arguments_beside_the_weights_are_harmless(tmp_path: Path) -> None:
    path = saved(tmp_path, {"model": original(), "args": argparse.Namespace(lr=1e-3), "epoch": 7})
    assert open_weights(str(path), frames=FRAMES, size=SIZE).report.loaded > 20


def test_missing_tensors_are_named(tmp_path: Path) -> None:
    state = original()
    del state["blocks.1.norm1.weight"]
    assert "lacks 'blocks.1.norm1.weight'" in refused(saved(tmp_path, state))
    assert "lacks" in refused(saved(tmp_path, {k: v for k, v in state.items() if ".mlp.fc2" not in k}))
    assert "no transformer blocks" in refused(saved(tmp_path, {k: v for k, v in state.items() if "blocks" not in k}))


def test_wrong_shapes_are_named(tmp_path: Path) -> None:
    state = original()
    state["blocks.1.attn.proj.weight"] = torch.zeros(192, 191)
    assert "'blocks.1.proj.weight' of shape (192, 191) where (192, 192) belongs" in refused(saved(tmp_path, state))


def test_unexpected_tensors_are_named(tmp_path: Path) -> None:
    state = original()
    state["pos_token"] = torch.zeros(1, 8, 192)
    assert "has the unexpected pos_token" in refused(saved(tmp_path, state))
    state = original() | {"pos_embed": torch.zeros(1, 8, 192)}
    assert "has learned positions" in refused(saved(tmp_path, state))
    state = original()
    state["blocks.1.gamma_1"] = torch.ones(192)
    assert "has the unexpected 'blocks.1.scale1'" in refused(saved(tmp_path, state))


def test_two_sets_of_weights_are_one_too_many(tmp_path: Path) -> None:
    state = original()
    assert "more than one set" in refused(saved(tmp_path, state | {f"module.{k}": v for k, v in state.items()}))


def test_strange_networks_are_refused(tmp_path: Path) -> None:
    said = refused(saved(tmp_path, {"conv1.weight": torch.zeros(3), "fc.bias": torch.zeros(1)}))
    assert "VideoMAE (original names), VideoMAE (Hugging Face names), CLIP" in said
    assert "starts with conv1.weight, fc.bias" in said
    save(dinov2(use_swiglu_ffn=True), tmp_path / "swiglu")
    with pytest.raises(UserError, match=r"unexpected .*gate_proj|unexpected .*weights_in"):
        open_weights(str(tmp_path / "swiglu"), frames=2)


def test_unknown_width_asks_for_the_configuration(tmp_path: Path) -> None:
    path = saved(tmp_path, original_names(videomae()))
    assert "width 48, for which no number of heads is known" in refused(path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "videomae", "num_attention_heads": 4}))
    assert open_weights(str(path), frames=FRAMES, size=SIZE).config.heads == 4
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "videomae", "num_attention_heads": 5}))
    assert "5 heads, which do not divide" in refused(path)


def test_files_that_are_no_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    for content, said in (
        (b"", "not a checkpoint"),
        (b"<html>404</html>", "not a checkpoint"),
        (b"PK\x03\x04 nothing", "truncated or not a checkpoint"),
        (b"\x80\x02nonsense", "truncated or not a checkpoint"),
    ):
        path.write_bytes(content)
        assert said in refused(path)
    assert "it is a list" in refused(saved(tmp_path, [1, 2]))
    assert "its entries are epoch, lr" in refused(saved(tmp_path, {"epoch": 3, "lr": 0.1}))


def test_truncated_files(tmp_path: Path) -> None:
    path = saved(tmp_path, original())
    whole = path.read_bytes()
    for share in (0.1, 0.5, 0.99):
        path.write_bytes(whole[: int(len(whole) * share)])
        assert "truncated" in refused(path)
    safe = tmp_path / "weights.safetensors"
    save_file(original(), safe)
    safe.write_bytes(safe.read_bytes()[:-100])
    assert "truncated" in refused(safe)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), legacy=st.booleans())
def test_any_bytes_end_in_one_sentence(tmp_path: Path, content: bytes, legacy: bool) -> None:
    path = tmp_path / "fuzz.pth"
    path.write_bytes((b"\x80\x02" if legacy else b"PK\x03\x04") + content)
    refused(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.lists(st.floats(0.01, 0.999), min_size=1, max_size=4), byte=st.integers(0, 255), legacy=st.booleans())
def test_altered_bytes_end_in_one_sentence(tmp_path: Path, where: list[float], byte: int, legacy: bool) -> None:
    path = tmp_path / "fuzz.pth"
    torch.save({"model": {"weight": torch.zeros(3)}}, path, _use_new_zipfile_serialization=not legacy)
    content = bytearray(path.read_bytes())
    for share in where:
        content[int(len(content) * share)] = byte
    path.write_bytes(content)
    refused(path)


def test_struct_errors_of_a_damaged_file_are_told(tmp_path: Path) -> None:
    """Found by the test above: torch's reader asks for more bytes than there are."""
    path = tmp_path / "weights.pth"
    path.write_bytes(b"\x80\x02J\x00")
    assert "truncated or not a checkpoint" in refused(path)


def test_folders(tmp_path: Path) -> None:
    assert "holds no weights" in refused(tmp_path)
    for name in ("a.pth", "b.pth"):
        torch.save(original(), tmp_path / name)
    assert "holds 2 files of weights (a.pth, b.pth); name one of them" in refused(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": "part1.safetensors"}}))
    assert "part1.safetensors, which is missing" in refused(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("{")
    assert "not readable JSON" in refused(tmp_path)


def test_no_head_to_keep(tmp_path: Path) -> None:
    state = {name: value for name, value in original().items() if not name.startswith("head")}
    assert "no head to keep" in refused(saved(tmp_path, state), options=WeightsOptions(keep_head=True))
