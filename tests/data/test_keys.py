import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from vidshift.data.keys import key

PARTS = st.lists(st.one_of(st.integers(), st.text(st.characters(blacklist_characters="\x1f"), max_size=8)), max_size=4)


def test_the_same_in_another_process_with_another_hash_seed():
    call = "from vidshift.data.keys import key; print(key('order', 3, 'studio', 0))"
    out = subprocess.run(
        [sys.executable, "-c", call], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7", **_path()}
    )
    assert int(out.stdout) == key("order", 3, "studio", 0)


def _path() -> dict[str, str]:
    import os

    return {name: os.environ[name] for name in ("PYTHONPATH", "PATH") if name in os.environ}


@given(parts=PARTS)
def test_fits_a_signed_word(parts):
    assert -(2**63) <= key(*parts) < 2**63


def test_parts_do_not_run_together():
    assert len({key("a", "b"), key("ab"), key("a", "b", ""), key("b", "a"), key(1, 2), key(12)}) == 6


def test_spread_over_the_word():
    values = [key("x", number) for number in range(2000)]
    assert len(set(values)) == 2000
    assert 900 < sum(value < 0 for value in values) < 1100
    assert 900 < sum(value & 1 for value in values) < 1100


def test_a_file_name_that_is_no_text_has_a_key_too():
    assert key("caf\udce9") != key("caf\udce8")
    assert key("\udd00") != key("\ud800")
