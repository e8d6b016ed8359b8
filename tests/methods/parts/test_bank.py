from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from vidshift.methods.parts.bank import Bank


def test_rows_are_found_by_the_clip_s_id() -> None:
    bank, like = Bank(), torch.zeros((), dtype=torch.float32)
    bank.fill(["a", "b", "c"], torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert bank.take(["c", "a"], like=like).tolist() == [[5.0, 6.0], [1.0, 2.0]]
    assert bank.take(["c"], like=like).dtype == torch.float32
    bank.update(["b"], torch.tensor([[0.0, -1.0]]))
    assert bank.take(["b"], like=like).tolist() == [[0.0, -1.0]]
    assert len(bank) == 3
    with pytest.raises(KeyError):
        bank.take(["d"], like=like)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_it_is_saved_whatever_its_size(tmp_path: Path, count: int) -> None:
    bank, ids = Bank(), [f"clip{i}" for i in range(count)]
    values = torch.randn(count, 3, dtype=torch.float64)
    if count:
        bank.fill(ids, values)
    save_file(bank.state_dict(), tmp_path / "state.safetensors")
    again = Bank()
    again.fill(["other"], torch.zeros(1, 7))
    again.load_state_dict(load_file(tmp_path / "state.safetensors"))
    assert len(again) == count
    if count:
        assert torch.equal(again.take(ids, like=values), values)
