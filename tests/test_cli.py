"""The command line itself: help, parsing, and what a person is told when something fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vidshift import __version__, cli
from vidshift.errors import UserError

HEAVY = ("torch", "numpy", "transformers", "pyarrow", "matplotlib", "av", "fastapi", "ray")


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """A command `adapt` that only raises."""

    class App:
        def __call__(self, *args: object, **options: object) -> None:
            raise error

    monkeypatch.setattr(cli, "build_app", App)


def test_help_reads_every_command_and_nothing_heavy():
    code = (
        "import sys; from vidshift.cli import run; status = run(['--help']); "
        f"print(status, [m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "0 []"
    for name in cli.COMMANDS:
        assert f"│ {name} " in done.stdout


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself_with_an_example(name: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run([name, "--help"]) == 0
    assert f"Example: vidshift {name}" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["adpt"], 'did you mean "adapt"?'),
        (["adapt", "--epoch", "3"], "did you mean --epochs?"),
        (["adapt", "--epochs", "many"], "many"),
        (["adapt", "--checkpoint", "lst"], 'did you mean "last"?'),
        (["adapt", "a", "b", "c"], "too many arguments, from 'c' on"),
        (["adapt", "--out"], "--out requires an argument"),
        (["predict"], "RUN"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_status_2(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("vidshift: ")
    assert told in captured.err
    assert "--help`" in captured.err


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (UserError("no such clip."), 1, "no such clip."),
        (UserError("no such method.", usage=True), 2, "no such method."),
        (KeyboardInterrupt(), 130, "stopped"),
        (FileNotFoundError(2, "No such file", "/x/y"), 1, "'/x/y': No such file"),
        (RuntimeError("two\nlines"), 1, "RuntimeError: two lines"),
    ],
)
def test_an_error_is_one_sentence(
    error: BaseException, status: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    failing(monkeypatch, error)
    monkeypatch.delenv(cli.DEBUG, raising=False)
    assert cli.run(["adapt"]) == status
    captured = capsys.readouterr().err
    assert told in captured
    assert captured.count("\n") == 1
    assert "Traceback" not in captured


def test_debugging_shows_the_traceback(monkeypatch: pytest.MonkeyPatch):
    failing(monkeypatch, RuntimeError("inside"))
    monkeypatch.setenv(cli.DEBUG, "1")
    with pytest.raises(RuntimeError, match="inside"):
        cli.run(["adapt"])


def test_a_reader_that_goes_away_is_no_error_message():
    reading, writing = os.pipe()
    os.close(reading)
    code = "import sys; from vidshift.cli import run; sys.exit(run(['--version']))"
    done = subprocess.run([sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == ""


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "vidshift", "--version"], capture_output=True, text=True, check=True, cwd=Path.home()
    )
    assert done.stdout.strip() == __version__


def test_names_that_are_no_text_are_shown_where_the_terminal_is_strict(tmp_path: Path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "a.mp4").touch()
    call = [sys.executable, "-m", "vidshift", "check", os.fsdecode(b"caf\xe9"), "--cache", str(tmp_path / "cache")]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(call, capture_output=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 1
    assert b"empty: caf\\udce9/a.mp4: the file is empty" in done.stdout
