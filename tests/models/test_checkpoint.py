import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tiny import names, tiny_vit, view_of

from vidshift.errors import UserError
from vidshift.models.checkpoint import CONFIG, FORMAT_VERSION, WEIGHTS, load_model, read_config, save_model


def saved(folder: Path) -> Path:
    save_model(folder, tiny_vit(seed=3), {"classes": ["run", "walk", "wave"], "threshold": 0.01})
    return folder


def test_a_model_comes_back_with_the_same_bits_and_extras(tmp_path: Path) -> None:
    model, extras = load_model(saved(tmp_path))
    assert extras == {"classes": ["run", "walk", "wave"], "threshold": 0.01}
    view = view_of(names(2))
    assert torch.equal(model(view).logits_BK, tiny_vit(seed=3)(view).logits_BK)
    assert not model.training
    assert sorted(path.name for path in tmp_path.iterdir()) == [CONFIG, WEIGHTS]


def test_saving_again_replaces_the_model(tmp_path: Path) -> None:
    saved(tmp_path)
    save_model(tmp_path, tiny_vit(seed=4))
    model, extras = load_model(tmp_path)
    assert extras == {}
    assert torch.equal(model.state_dict()["head.weight"], tiny_vit(seed=4).state_dict()["head.weight"])


def test_a_crash_between_the_two_files_leaves_a_whole_model(tmp_path: Path) -> None:
    """New weights beside an old configuration: the one inside the weights belongs to them."""
    old = saved(tmp_path / "old")
    save_model(tmp_path / "new", tiny_vit(seed=4, classes=5), {"classes": list("abcde")})
    (old / WEIGHTS).write_bytes((tmp_path / "new" / WEIGHTS).read_bytes())
    model, extras = load_model(old)
    assert model.config.classes == 5
    assert extras == {"classes": list("abcde")}


def test_an_extra_may_not_take_an_own_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'vit'"):
        save_model(tmp_path, tiny_vit(), {"vit": 1})


def broken(folder: Path, how: str) -> None:
    config, weights = folder / CONFIG, folder / WEIGHTS
    if how == "no configuration":
        config.unlink()
    elif how == "no weights":
        weights.unlink()
    elif how == "half a configuration":
        config.write_text(config.read_text()[:100])
    elif how == "binary configuration":
        config.write_bytes(b"\xff\xfe\x00")
    elif how == "another file":
        config.write_text('{"architectures": ["Other"]}')
    elif how == "odd configuration":
        config.write_text(json.dumps({"format_version": 1, "vit": 3}))
    elif how == "newer":
        config.write_text(json.dumps({**json.loads(config.read_text()), "format_version": FORMAT_VERSION + 1}))
    elif how == "truncated weights":
        weights.write_bytes(weights.read_bytes()[:-50])
    elif how == "no safetensors":
        weights.write_bytes(b"hello")
    else:
        state = tiny_vit(seed=3).state_dict()
        if how == "missing tensor":
            del state["head.bias"]
        elif how == "extra tensor":
            state["other"] = torch.zeros(1)
        elif how == "wrong shape":
            state["head.bias"] = torch.zeros(9)
        save_file(state, weights)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("no configuration", "holds no model"),
        ("no weights", "is missing"),
        ("half a configuration", "not readable JSON"),
        ("binary configuration", "not readable JSON"),
        ("another file", "not the configuration of a VidShift model"),
        ("odd configuration", "not the configuration of a VidShift model"),
        ("newer", "upgrade VidShift"),
        ("truncated weights", "truncated or not a safetensors file"),
        ("no safetensors", "truncated or not a safetensors file"),
        ("missing tensor", "lacks tensor 'head.bias'"),
        ("extra tensor", "unexpected tensor 'other'"),
        ("wrong shape", r"'head.bias' of shape \(9,\)"),
    ],
)
def test_a_broken_model_is_refused_in_a_sentence(tmp_path: Path, how: str, said: str) -> None:
    broken(saved(tmp_path), how)
    with pytest.raises(UserError, match=said):
        load_model(tmp_path)


def test_the_configuration_alone_can_be_read(tmp_path: Path) -> None:
    assert read_config(saved(tmp_path))["classes"] == ["run", "walk", "wave"]
