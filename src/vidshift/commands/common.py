"""Parameters that several commands share, and the machine-readable last line. Light on purpose: `--help` reads it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

Json = Annotated[bool, Parameter(name="--json", negative="", help="End with one machine-readable line.")]
Quiet = Annotated[bool, Parameter(name=("--quiet", "-q"), negative="", help="No progress on standard error.")]
Cache = Annotated[
    Path | None,
    Parameter(help="Folder of drawn and decoded clips; default: in the platform's cache folder."),
]
Workers = Annotated[int | None, Parameter(help="Processes or threads that draw and decode; default: the CPUs here.")]
Device = Annotated[str, Parameter(help="Where the network runs, such as cpu or cuda.")]
Precision = Annotated[Literal["float32", "bfloat16"], Parameter(help="Arithmetic of the network.")]
Pairs = tuple[str, ...]


def say_json(value: Mapping[str, Any]) -> None:
    """One line on standard output."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False), flush=True)
