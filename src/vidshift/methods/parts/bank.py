"""What a method remembers of single clips: pseudo-labels, averaged predictions."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from vidshift.data.keys import key


class Bank(nn.Module):
    """A row of numbers for each clip, found by the clip's id and saved with the run, however many there are.

    A step may be run again without gradient to probe a threshold, so a bank is written in `on_epoch`, or in a step only
    while the method is in training mode.
    """

    def __init__(self) -> None:
        super().__init__()
        self._values_NK = torch.zeros(0, 0, dtype=torch.float64)
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def fill(self, ids: Sequence[str], values_NK: Tensor) -> None:
        """Replaces all rows."""
        self._set([key(clip) for clip in ids], values_NK.detach().cpu().double())

    def update(self, ids: Sequence[str], values_BK: Tensor) -> None:
        """Replaces the rows of some clips."""
        self._values_NK[self._rows(ids)] = values_BK.detach().cpu().double()

    def take(self, ids: Sequence[str], *, like: Tensor) -> Tensor:
        """[B, K], on the device and in the type of `like`."""
        return self._values_NK[self._rows(ids)].to(like)

    def _rows(self, ids: Sequence[str]) -> list[int]:
        return [self._places[key(clip)] for clip in ids]

    def _set(self, keys: list[int], values_NK: Tensor) -> None:
        self._values_NK = values_NK.clone()
        self._places = {clip: row for row, clip in enumerate(keys)}

    def get_extra_state(self) -> Tensor:
        """One tensor of any height, which `load_state_dict` takes where a buffer would have to have the same shape."""
        keys_N1 = torch.tensor(list(self._places), dtype=torch.int64).view(-1, 1)
        return torch.cat([keys_N1, self._values_NK.view(torch.int64)], dim=1)

    def set_extra_state(self, state: Tensor) -> None:
        self._set(state[:, 0].tolist(), state[:, 1:].contiguous().view(torch.float64))
