"""What people might write below a picture of the world: the sentences that the image-text teacher learns from.

As with captions in the wild, some name the action in the words that a teacher will later be asked with, some in other
words, and some say only where it is, what somebody wears, or what stands about.
"""

from collections.abc import Mapping, Sequence

from numpy.random import Generator

from vidshift.data.stickworld.draw import Description
from vidshift.data.wordings import TEMPLATE, WORDINGS

# Beside the wording of the class.
_OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    "drink": ("having a drink", "taking a sip", "drinking something", "raising a drink to the mouth"),
    "jump": ("jumping up and down", "hopping", "leaping into the air", "making a jump"),
    "pick": ("picking up something from the ground", "bending down to pick something up", "lifting something"),
    "pour": ("pouring something out", "pouring a drink", "emptying a vessel", "tipping something out"),
    "push": ("pushing", "shoving something", "pushing with both hands", "leaning into a push"),
    "run": ("jogging", "running fast", "sprinting", "going for a run"),
    "walk": ("strolling", "walking along", "taking a walk", "going on foot"),
    "wave": ("waving a hand", "waving hello", "waving at the camera", "greeting with a raised hand"),
}
_GOING = ("walk", "run", "push")

_SOMEBODY = ("a person", "a person", "a person", "someone", "somebody", "a figure")
_OPENINGS = (
    "{}",
    "{}",
    "a video of {}",
    "a picture of {}",
    "a photo of {}",
    "a frame of a video of {}",
    "a clip of {}",
    "this is {}",
    "footage of {}",
)
_SHIRTS = ("in {article} {colour} shirt", "wearing {article} {colour} shirt", "with {article} {colour} top")
_BESIDE = ("next to {}", "beside {}", "near {}", "with {} in the background", "by {}")

_PREPOSITIONS = {"beach": "on", "road": "on", "square": "on", "stage": "on", "station": "at", "pool": "at"}

# How often a caption is just the prompt, names the action among other things, or does not name it.
_PROMPT, _ACTION = 0.5, 0.4


def caption(description: Description, rng: Generator) -> str:
    """One caption; other draws from `rng` say other true things about the same clip."""
    kind = rng.random()
    if kind < _PROMPT:
        return TEMPLATE.replace("{class}", WORDINGS[description.motion])
    names_action = kind < _PROMPT + _ACTION
    details = _details(description, rng, at_least=0 if names_action else 1)
    who = _pick(rng, _SOMEBODY)
    if "shirt" in details:
        who = f"{who} {details['shirt']}"
    if names_action:
        who = f"{who} {_action(description, rng)}"
    who = " ".join([who, *(details[name] for name in ("held", "place", "beside") if name in details)])
    return _pick(rng, _OPENINGS).format(who)


def _action(description: Description, rng: Generator) -> str:
    does = description.motion
    words = WORDINGS[does] if rng.random() < 0.5 else _pick(rng, _OTHER_WORDS[does])
    if does in _GOING and rng.random() < 0.15:
        return f"{words} to the {description.facing}"
    return words


def _details(description: Description, rng: Generator, *, at_least: int) -> dict[str, str]:
    """What else is said, each with a chance of its own."""
    shirt = _pick(rng, _SHIRTS).format(article=_article(description.top), colour=description.top)
    said = {"shirt": shirt, "place": _place(description.scene)}
    if description.held != "nothing":
        said["held"] = _pick(rng, ("holding {}", "with {} in one hand", "carrying {}")).format(f"a {description.held}")
    if description.cue is not None:
        said["beside"] = _pick(rng, _BESIDE).format(description.cue)
    chances = {"shirt": 0.2, "place": 0.3, "held": 0.15, "beside": 0.3}
    kept = {name: words for name, words in said.items() if rng.random() < chances[name]}
    if len(kept) < at_least:
        name = _pick(rng, tuple(said))
        kept[name] = said[name]
    return kept


def _place(scene: str) -> str:
    """`a park` as `in a park`, with the word that English wants."""
    return f"{_PREPOSITIONS.get(scene.rsplit(' ', 1)[-1], 'in')} {scene}"


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _pick(rng: Generator, options: Sequence[str]) -> str:
    return options[int(rng.integers(len(options)))]
