"""What came out of a file of weights, in words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LeftOut:
    """Tensors that are in the file and not in the network, with the reason."""

    what: str
    tensors: int
    why: str

    def __str__(self) -> str:
        return f"{self.what} ({self.tensors} {'tensor' if self.tensors == 1 else 'tensors'}: {self.why})"


@dataclass(frozen=True, kw_only=True)
class WeightsReport:
    """`str(report)` is what a person is told."""

    name: str
    family: str
    spelling: str
    size: str
    parameters: int
    loaded: int
    left_out: tuple[LeftOut, ...] = ()
    fresh: tuple[str, ...] = ()
    licence: str | None = None
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        said = [
            f"{self.name}: {self.size} of {self.family} ({self.spelling}), {self.parameters / 1e6:.1f} million "
            f"parameters in {self.loaded} tensors"
        ]
        if self.left_out:
            said.append(f"left out: {'; '.join(map(str, self.left_out))}")
        if self.fresh:
            said.append(f"starts fresh: {', '.join(self.fresh)}")
        said.append(f"licence of the weights: {self.licence or 'unknown; ask where the file came from'}")
        said.extend(f"note: {note}" for note in self.notes)
        return said

    def __str__(self) -> str:
        return "\n".join(self.lines())
