"""Bar B of issue 5: every kind of odd file gets the right status; nothing crashes or hangs."""

import os
from pathlib import Path

import pytest
from odd_videos import KINDS, make_all

from vidshift.data.check.run import Look, check_manifest, with_findings
from vidshift.data.decode import DecodeError, decode, probe
from vidshift.data.layouts import read
from vidshift.data.manifest import Row


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    manifest = read(make_all(tmp_path_factory.mktemp("odd")))
    findings = check_manifest(manifest, Look(frames=32, height=64, width=64), workers=2, timeout=60.0)
    return {row.path.name: row for row in with_findings(manifest, findings).rows}


def test_there_are_enough_kinds(rows: dict[str, Row]):
    assert len(KINDS) >= 25
    assert set(rows) == {kind.name for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_status(rows: dict[str, Row], kind):
    row = rows[kind.name]
    assert row.status == kind.status, row.reason
    assert (row.reason is None) == (row.status == "ok")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_a_file_that_may_not_be_read(tmp_path: Path):
    next(kind for kind in KINDS if kind.name == "locked.mp4").make(tmp_path / "locked.mp4")
    (tmp_path / "good.mp4").write_bytes((tmp_path / "locked.mp4").read_bytes())
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    (tmp_path / "good.mp4").chmod(0o644)
    decode(tmp_path / "good.mp4", frames=4)
    os.seteuid(65534)
    try:
        assert decode(tmp_path / "good.mp4", frames=4).total == 40
        for look in (probe, decode):
            with pytest.raises(DecodeError) as refused:
                look(tmp_path / "locked.mp4")
            assert refused.value.status == "no-permission"
    finally:
        os.seteuid(0)
