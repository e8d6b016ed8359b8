"""A tokenizer in CLIP's format for a small vocabulary: byte pairs merged until every known word is one token."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

BOS, EOS = "<|startoftext|>", "<|endoftext|>"
_END = "</w>"

Pair = tuple[str, str]


def words_of(sentences: Iterable[str]) -> Counter[str]:
    """How often each word occurs; CLIP's tokenizer lowers the case and splits at whatever is not a letter."""
    return Counter(word for sentence in sentences for word in re.findall(r"[a-z]+", sentence.lower()))


def learn_merges(words: Counter[str]) -> list[Pair]:
    """The most frequent neighbours are merged first, ties in alphabetical order, until each word is whole."""
    pieces = {word: (*word[:-1], word[-1] + _END) for word in words}
    merges: list[Pair] = []
    while True:
        found: Counter[Pair] = Counter()
        for word, parts in pieces.items():
            for pair in pairwise(parts):
                found[pair] += words[word]
        if not found:
            return merges
        best = min(found, key=lambda pair: (-found[pair], pair))
        merges.append(best)
        pieces = {word: _merged(parts, best) for word, parts in pieces.items()}


def _merged(parts: tuple[str, ...], pair: Pair) -> tuple[str, ...]:
    out: list[str] = []
    for part in parts:
        # A merged piece is longer than its halves, so it cannot be taken for the first half of the pair again.
        if out and (out[-1], part) == pair:
            out[-1] += part
        else:
            out.append(part)
    return tuple(out)


def make_tokenizer(sentences: Iterable[str], *, length: int = 77) -> Any:
    """A `CLIPTokenizer` that knows the words of the sentences; any other text is spelled in its letters."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import CLIPTokenizer

    merges = learn_merges(words_of(sentences))
    letters = sorted(ByteLevel.alphabet())
    pieces = [*letters, *(letter + _END for letter in letters), *(a + b for a, b in merges), BOS, EOS]
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    # The type that transformers declares for merges is not the one that it passes on.
    pairs: Any = merges
    return CLIPTokenizer(vocab=vocab, merges=pairs, model_max_length=length)
