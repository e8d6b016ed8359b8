"""Captions as numbers, and what is told of clips."""

from pathlib import Path

import torch

from vidshift.data.stickworld.described import describe
from vidshift.data.stickworld.draw import Description
from vidshift.data.stickworld.numbered import Series
from vidshift.teachers.bpe import make_tokenizer
from vidshift.teachers.captioned import CaptionTable, draw_captions, mirrored

SEEN = [
    Description(
        domain="web", action=action, motion=action, scene="a park", top="red", held="nothing", cue=None, facing=facing
    )
    for action, facing in (("walk", "left"), ("push", "right"), ("drink", "left"))
]


def test_captions_follow_from_the_seed_and_the_clip():
    first, again = draw_captions(SEEN, each=6, seed=0), draw_captions(SEEN, each=6, seed=0)
    assert first == again
    assert draw_captions(SEEN, each=6, seed=1) != first
    assert draw_captions(SEEN[:1], each=6, seed=0) == first[:1]
    assert [len(row) for row in first] == [6, 6, 6]


def test_a_mirrored_clip_is_told_with_the_other_side_and_nothing_else():
    plain = draw_captions(SEEN, each=200, seed=0)
    turned = draw_captions([mirrored(one) for one in SEEN], each=200, seed=0)
    swap = {"left": "right", "right": "left"}
    pairs = [(a, b) for rows in zip(plain, turned, strict=True) for a, b in zip(*rows, strict=True)]
    assert any(a != b for a, b in pairs)
    assert all(" ".join(swap.get(word, word) for word in a.split()) == b for a, b in pairs)


def test_the_table_gives_a_clip_s_own_sentences():
    plain, turned = [["a cat", "a dog"], ["a cat", "a hen"]], [["a tac", "a god"], ["a tac", "a neh"]]
    texts = [text for rows in (plain, turned) for row in rows for text in row]
    tokenizer = make_tokenizer(texts)
    table = CaptionTable(plain, turned, lambda t: tokenizer(t, padding=True, return_tensors="pt"), torch.device("cpu"))
    seen: dict[tuple[int, bool], set[str]] = {}
    for seed in range(40):
        clip_B, mirror_B = [0, 1, 0], torch.tensor([False, False, True])
        caption_B, ids_BL, mask_BL = table.at(clip_B, torch.tensor([seed, 90 + seed, 200 + seed]), mirror_B)
        for clip, mirror, number, ids, mask in zip(clip_B, mirror_B.tolist(), caption_B, ids_BL, mask_BL, strict=True):
            text = table.texts[int(number)]
            assert tokenizer(text)["input_ids"] == ids[mask.bool()].tolist()
            seen.setdefault((clip, mirror), set()).add(text)
    assert seen == {(0, False): {"a cat", "a dog"}, (1, False): {"a cat", "a hen"}, (0, True): {"a tac", "a god"}}


def test_descriptions_are_those_of_the_drawn_clips_and_are_kept(tmp_path: Path):
    series = Series(domain="web", split="val", seed=3)
    told = describe(tmp_path, series, 3)
    assert told == tuple(series.draw(number).description for number in range(3))
    files = list(tmp_path.rglob("descriptions-3.json"))
    assert len(files) == 1
    files[0].write_text(files[0].read_text().replace(told[0].top, "plaid"))
    assert describe(tmp_path, series, 3)[0].top == "plaid"
