"""The words for classes in a sentence: what teachers ask, and what captions say."""

from collections.abc import Mapping

# The paper's template; which words it puts for a class is not printed.
TEMPLATE = "a video of a person {class}"

# Gerunds, so that the template reads as a sentence: Daily-DA and stickworld, UCF-HMDB, ActorShift.
WORDINGS: Mapping[str, str] = {
    "drink": "drinking",
    "jump": "jumping",
    "pick": "picking something up",
    "pour": "pouring",
    "push": "pushing something",
    "run": "running",
    "walk": "walking",
    "wave": "waving",
    "climb": "climbing",
    "golf": "playing golf",
    "kick ball": "kicking a ball",
    "pullup": "doing pull-ups",
    "punch": "punching",
    "pushup": "doing push-ups",
    "ride bike": "riding a bike",
    "ride horse": "riding a horse",
    "shoot ball": "shooting a ball",
    "shoot bow": "shooting a bow",
    "opening door": "opening a door",
}
