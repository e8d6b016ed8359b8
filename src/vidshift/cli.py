"""The command line: which commands there are, and what a person is told when one fails.

Each command is one function in `vidshift/commands/NAME.py`, loaded only when it is used.
"""

import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from cyclopts import App, CycloptsError, UnusedCliTokensError

from vidshift import __version__
from vidshift.errors import UserError

# In the order of the help. A command NAME-OF-IT is the function `name_of_it` in `vidshift/commands/name_of_it.py`;
# such a module imports nothing heavy at its top, since the help of all commands reads every one of them.
COMMANDS = (
    "adapt",
    "check",
    "label",
    "evaluate",
    "predict",
    "compare",
    "pretrain",
    "cost",
    "export",
    "stickworld",
)

HELP = """Adapt video action recognition to a new domain without labels, on a fraction of the tokens.

`vidshift adapt` alone runs the main job on the built-in domains; `vidshift adapt SOURCE TARGET` on your own folders.
"""
DEBUG = "VIDSHIFT_DEBUG"


def build_app() -> App:
    app = App(name="vidshift", version=__version__, help=HELP, help_format="markdown")
    for name in COMMANDS:
        function = name.replace("-", "_")
        app.command(f"vidshift.commands.{function}:{function}", name=name)
    return app


def run(arguments: Sequence[str]) -> int:
    """One call, as from a shell; returns the exit status: 0 success, 2 a wrong call, 1 other errors, 130 Ctrl-C."""
    app = build_app()
    if not arguments or arguments[0] in ("--help", "-h"):
        for name in COMMANDS:
            app[name]
    try:
        result = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except CycloptsError as error:
        return _fail(f"{_wrong_call(error)} (see `vidshift{_command(arguments)} --help`)", 2)
    except UserError as error:
        return _fail(_one_line(str(error)), error.exit_code)
    except KeyboardInterrupt:
        return _fail("stopped; the same command starts again.", 130)
    except BrokenPipeError:
        # Whoever read our output has gone: nobody is left to tell, and the interpreter must not try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except Exception as error:
        if os.environ.get(DEBUG, "") not in ("", "0"):
            raise
        return _fail(f"{_reason(error)}; set {DEBUG}=1 to see the traceback.", 1)


def main() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        # Names of files may be bytes that are no text; they are shown as \\xe9, in JSON as \\udce9.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def _command(arguments: Sequence[str]) -> str:
    return f" {arguments[0]}" if arguments and arguments[0] in COMMANDS else ""


def _wrong_call(error: CycloptsError) -> str:
    if isinstance(error, UnusedCliTokensError):
        return f"too many arguments, from {(error.unused_tokens or ['?'])[0]!r} on"
    # The parser says "What. Did you mean X?": one sentence here.
    return "; ".join(part[0].lower() + part[1:] for part in _one_line(str(error)).rstrip(".").split(". "))


def _reason(error: Exception) -> str:
    """The operating system's errors name the file themselves; anything else is a defect of ours."""
    what = _one_line(f"{type(error).__name__}: {error}") if str(error) else type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        where = f" {str(error.filename)!r}" if error.filename else ""
        return f"the system refused{where}: {error.strerror}"
    return f"stopped by a defect in VidShift ({what})"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _fail(sentence: str, status: int) -> int:
    sys.stdout.flush()
    print(f"vidshift: {sentence}", file=sys.stderr, flush=True)
    return status
