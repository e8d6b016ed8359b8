"""The small tokenizer: CLIP's format, whole words for what it knows, letters for the rest."""

from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from vidshift.teachers.bpe import learn_merges, make_tokenizer, words_of

SENTENCES = ["a video of a person drinking", "A person walking in a park.", "someone drinking tea"]


def test_merges_by_hand():
    """`aa`, written a a</w>: the pair occurs five times, then (a, b</w>) twice."""
    assert learn_merges(Counter({"aa": 5, "ab": 2})) == [("a", "a</w>"), ("a", "b</w>")]
    # (b, c</w>) counts 3, (a, b) 2: the ending goes first, and then the rest of the word joins it.
    assert learn_merges(Counter({"abc": 2, "bc": 1})) == [("b", "c</w>"), ("a", "bc</w>")]
    assert learn_merges(Counter({"a": 9})) == []


def test_known_words_are_single_tokens_and_others_are_spelled():
    tokenizer = make_tokenizer(SENTENCES)
    words = ["someone", "walking", "in", "a", "park"]
    assert tokenizer.tokenize("Someone walking in a PARK") == [f"{word}</w>" for word in words]
    spelled = tokenizer.tokenize("zebra")
    assert "".join(spelled) == "zebra</w>"
    assert len(spelled) > 1


def test_it_comes_back_through_transformers_as_every_clip_s_does(tmp_path: Path):
    from transformers import AutoTokenizer

    tokenizer = make_tokenizer(SENTENCES, length=24)
    tokenizer.save_pretrained(tmp_path)
    opened = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    first = tokenizer(SENTENCES, padding=True)
    assert opened(SENTENCES, padding=True) == first
    assert opened.model_max_length == 24
    row = first["input_ids"][2]
    assert row[0] == opened.bos_token_id
    assert row[first["attention_mask"][2].index(0) - 1] == opened.eos_token_id == opened.pad_token_id


@given(st.lists(st.text(alphabet="abcde ", max_size=12), min_size=1, max_size=6))
def test_every_word_that_was_learned_ends_up_whole(sentences: list[str]):
    words = words_of(sentences)
    merges = learn_merges(words)
    made = {a + b for a, b in merges}
    assert len(made) == len(merges)
    assert all(len(word) == 1 or f"{word}</w>" in made for word in words)
