from pathlib import Path

import pytest

from vidshift.places import cache_folder


def test_the_cache_is_where_the_platform_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "vidshift"
    assert cache_folder(Path("~/here")) == Path.home() / "here"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == Path.home() / ".cache" / "vidshift"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == Path.home() / "Library" / "Caches" / "vidshift"
