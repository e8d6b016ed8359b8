"""`none`: every token, the paper's "w/o LMFT"."""

from vidshift.tokens.base import Reducer, reducers


@reducers.register("none")
class KeepAll(Reducer):
    name = "none"
