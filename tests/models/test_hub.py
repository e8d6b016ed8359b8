"""The hub without a network: what is said, and what is found in the cache."""

from pathlib import Path

import pytest
from tiny_models import FRAMES, save, videomae

from vidshift.errors import UserError
from vidshift.models import hub
from vidshift.models.weights import open_weights


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reaches the network; the cache is empty."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))


def cached(tmp_path: Path, repository: str) -> Path:
    """A folder as huggingface_hub keeps it."""
    root = tmp_path / "cache" / f"models--{repository.replace('/', '--')}"
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text("a" * 40)
    snapshot = root / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    return snapshot


def test_offline_names_the_ways_out() -> None:
    with pytest.raises(UserError) as caught:
        open_weights("MCG-NJU/videomae-base", frames=FRAMES)
    said = str(caught.value)
    assert "MCG-NJU/videomae-base is not in the local cache and HF_HUB_OFFLINE forbids a download" in said
    for way in ("--backbone PATH", "vidshift pretrain", "--backbone stick"):
        assert way in said
    assert "\n" not in said


def test_a_file_of_a_repository_offline() -> None:
    with pytest.raises(UserError, match=r"VideoMAE2/distill/vit_b\.pth is not in the local cache"):
        open_weights("OpenGVLab/VideoMAE2/distill/vit_b.pth", frames=FRAMES)


@pytest.mark.parametrize("name", ["no-such-file.pth", "./no/such/folder", "~/nothing", "/no/such/file.pth"])
def test_paths_are_not_taken_for_hub_ids(name: str) -> None:
    with pytest.raises(UserError, match="no file, folder or hub id"):
        open_weights(name, frames=FRAMES)


def test_bad_ids_are_refused() -> None:
    with pytest.raises(UserError, match="no hub id"):
        open_weights("bad owner/na me", frames=FRAMES)


def test_the_cache_is_enough_and_names_its_licence(tmp_path: Path) -> None:
    save(videomae(), cached(tmp_path, "MCG-NJU/videomae-base"))
    assert hub.is_cached("MCG-NJU/videomae-base")
    assert not hub.is_cached("MCG-NJU/videomae-large")
    report = open_weights("MCG-NJU/videomae-base", frames=FRAMES).report
    assert report.licence == hub.NON_COMMERCIAL
    save(videomae(), cached(tmp_path, "somebody/else"))
    assert open_weights("somebody/else", frames=FRAMES).report.licence == "see its model card"


def test_catalogue_says_size_and_licence() -> None:
    assert str(hub.described("MCG-NJU/videomae-base")) == (
        "MCG-NJU/videomae-base (about 377 MB; licence: CC BY-NC 4.0: non-commercial use only)"
    )
    assert "size unknown; licence: see its model card" in str(hub.described("somebody/else"))
    for name, entry in hub.CATALOGUE.items():
        assert entry.name == name
        assert hub.is_hub_id("/".join(name.split("/")[:2]))


def test_sizes_follow_from_the_parameters() -> None:
    """The encoder of the sheet (tokens.md section 7.1): 86,227,200 without the head, 769 numbers a class."""
    fine_tuned = hub.CATALOGUE["MCG-NJU/videomae-base-finetuned-kinetics"].megabytes
    assert fine_tuned == round((86_227_200 + 769 * 400) * 4 / 1e6)


def test_a_model_id_offline_names_the_local_way() -> None:
    with pytest.raises(UserError, match="a model folder on this machine"):
        hub.download("somebody/model")


def test_failed_downloads_name_size_and_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> str:
        raise OSError("Name or service\nnot known")

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.snapshot_download", broken)
    with pytest.raises(UserError) as caught:
        open_weights("MCG-NJU/videomae-base", frames=FRAMES)
    assert "about 377 MB; licence: CC BY-NC 4.0" in str(caught.value)
    assert "could not be downloaded (Name or service not known); use a local file" in str(caught.value)


def test_what_would_be_fetched_is_known_before(tmp_path: Path) -> None:
    for name in ("MCG-NJU/videomae-base", "OpenGVLab/VideoMAE2/distill/vit_b_k710_dl_from_giant.pth", "some/body"):
        assert hub.download_needed(name) == hub.described(name)
    cached(tmp_path, "some/body").joinpath("config.json").write_text("{}")
    for name in ("some/body", "stick", "vit-b", str(tmp_path), "./no/such/file.pth"):
        assert hub.download_needed(name) is None
