"""Looks: which frames and which crop a step sees."""

import numpy as np
import torch
from tiny import GEOMETRY, Memory, film, names

from vidshift.data.loader import GRID
from vidshift.engine.looks import Ahead, Crop, LoadedFrames, Looks, ResidentFrames, open_frames

CPU = torch.device("cpu")
PER_CLIP = GRID * GEOMETRY.frames
PLAIN = Crop(area=(1.0, 1.0), aspect=(1.0, 1.0), flip=0.0)


def looks(store: object = None, *, frames: int = GEOMETRY.frames, crop: Crop = PLAIN, seed: int = 0) -> Looks:
    kept = LoadedFrames(Memory(names(5)), CPU) if store is None else store
    return Looks(kept, frames=frames, per_clip=PER_CLIP, batch=4, seed=seed, crop=crop)  # pyright: ignore[reportArgumentType]


def test_frames_in_memory_and_loaded_frames_are_the_same():
    clips = Memory(names(5))
    frame_BT = torch.tensor([[0, 3, 15], [1, 1, 2]])
    resident, loaded = ResidentFrames(clips, CPU), LoadedFrames(clips, CPU)
    found = resident.frames_BTHWC([4, 0], frame_BT)
    assert torch.equal(found, loaded.frames_BTHWC([4, 0], frame_BT))
    assert np.array_equal(found[0, 1].numpy(), clips.grid_THWC(4)[3])
    assert len(resident) == len(loaded) == 5
    assert isinstance(open_frames(clips, CPU), LoadedFrames)


def test_a_full_crop_without_mirror_is_the_clip_itself():
    look = looks().at(2)
    for row, (place, name) in enumerate(zip(look.clip_B, look.view.ids, strict=True)):
        assert name == f"clip{place}"
        grid = film(name, frames=PER_CLIP).float() / 255
        pairs = grid.view(GEOMETRY.frames, GRID, *grid.shape[1:])
        gap = (pairs - look.view.pixels_BTCHW[row][:, None]).abs().amax(dim=(2, 3, 4))
        assert gap.min(dim=1).values.max() < 1e-5


def test_one_frame_of_a_clip_can_be_any():
    store = LoadedFrames(Memory(names(5)), CPU)
    asked: list[int] = []

    class Spy(LoadedFrames):
        def frames_BTHWC(self, clip_B, frame_BT):
            asked.extend(frame_BT.flatten().tolist())
            return store.frames_BTHWC(clip_B, frame_BT)

    spied = looks(Spy(Memory(names(5)), CPU), frames=1)
    for step in range(40):
        assert spied.at(step).view.pixels_BTCHW.shape == (4, 1, 3, 32, 32)
    assert set(asked) == set(range(PER_CLIP))


def test_a_mirror_turns_every_frame_and_is_told():
    turned, straight = looks(crop=Crop(area=(1, 1), aspect=(1, 1), flip=1.0)).at(0), looks().at(0)
    assert turned.mirrored_B.all()
    assert not straight.mirrored_B.any()
    assert torch.allclose(turned.view.pixels_BTCHW, straight.view.pixels_BTCHW.flip(-1), atol=1e-5)


def test_boxes_lie_inside_the_frame_and_have_the_share_asked_for():
    crop = Crop()
    width, height, x, y = crop.boxes(torch.arange(4000)).unbind(1)
    mirrored, width = width < 0, width.abs()
    assert (x.abs() + width <= 1 + 1e-5).all()
    assert (y.abs() + height <= 1 + 1e-5).all()
    share = width * height
    assert share.max() <= 1
    assert share.min() > 0.4
    assert abs(float(mirrored.float().mean()) - 0.5) < 0.04


def test_a_crop_of_a_ramp_is_a_flatter_ramp():
    """Bilinear sampling of a straight line is exact, so box and picture can be compared by hand."""
    ramp = torch.arange(32, dtype=torch.uint8).expand(1, 1, 3, 32, 32)
    crop = Crop(flip=0.0)
    seeds_B = torch.tensor([11])
    half, _, centre, _ = crop.boxes(seeds_B)[0].tolist()
    place = (torch.arange(32) + 0.5) / 16 - 1
    expected = ((centre + half * place + 1) * 16 - 0.5).clamp(0, 31) / 255
    assert torch.allclose(crop(ramp, seeds_B)[0, 0, 0, 7], expected, atol=1e-4)


def test_a_step_s_look_follows_from_its_number():
    crop = Crop()
    first, again, other = looks(crop=crop).at(3), looks(crop=crop).at(3), looks(crop=crop, seed=1).at(3)
    assert torch.equal(first.view.pixels_BTCHW, again.view.pixels_BTCHW)
    assert torch.equal(first.seeds_B, again.seeds_B)
    assert not torch.equal(first.seeds_B, other.seeds_B)


def test_looks_prepared_ahead_are_the_same_in_any_order():
    plain, ahead = looks(crop=Crop()), Ahead(looks(crop=Crop()))
    for step in (0, 1, 2, 5, 6, 1):
        assert torch.equal(ahead.at(step).view.pixels_BTCHW, plain.at(step).view.pixels_BTCHW)


def test_a_look_tells_its_frames_and_its_box():
    crop = Crop()
    look = looks(frames=1, crop=crop).at(4)
    assert look.frame_BT.shape == (4, 1)
    assert torch.equal(look.box_B4, crop.boxes(look.seeds_B))
    plain = looks(frames=1).at(4)
    for row, name in enumerate(plain.view.ids):
        grid = film(name, frames=PER_CLIP).float() / 255
        assert torch.allclose(plain.view.pixels_BTCHW[row, 0], grid[plain.frame_BT[row, 0]], atol=1e-5)
