"""What a comparison is made of: cells (one run each), and how rows, sweeps, directions and seeds make them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from vidshift.engine.config import RunConfig
from vidshift.engine.expected import names_reducer
from vidshift.engine.options import options_of, read_options, split_pairs
from vidshift.errors import UserError, did_you_mean

Options = tuple[tuple[str, Any], ...]

# What decides a run's numbers. Pages, tables and commands may change without making a finished run stale.
_DECIDES = ("data", "tokens", "models", "teachers", "methods", "engine")
_ONLY_SHOWS = frozenset({"console.py", "report.py", "predict.py", "log.py"})

# Names of the paper and of the built-in world for what is an option elsewhere.
ALIASES = {"lambda_l": "loss_weight", "lambda_t": "target_weight", "tau": "threshold"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of a comparison. `match` names a row whose true FLOPs decide this one's `keep`, once that has run."""

    source: str
    target: str
    method: str
    reducer: str = "none"
    method_options: Options = ()
    reducer_options: Options = ()
    settings: Options = ()
    variant: str = ""
    seed: int = 0
    match: str = ""

    @property
    def row(self) -> str:
        """The name of everything but direction, variant and seed, such as `joint + lmft(policy=paired)`."""
        head = _named(self.method, self.method_options)
        if names_reducer(self.method, self.reducer):
            head += f" + {_named(self.reducer, self.reducer_options)}"
        if self.match:
            head += f" at the FLOPs of {self.match}"
        return head + "".join(f", {name}={value}" for name, value in self.settings)

    @property
    def direction(self) -> str:
        return f"{self.source}->{self.target}"

    @property
    def group(self) -> tuple[str, int]:
        """Cells of a group share their clips: they run together, so that what was decoded can go afterwards."""
        return self.variant, self.seed

    def config(self, *, base: RunConfig) -> RunConfig:
        return replace(
            base,
            source=self.source,
            target=self.target,
            method=self.method,
            method_options=dict(self.method_options),
            reducer=self.reducer,
            reducer_options=dict(self.reducer_options),
            variant=self.variant,
            seed=self.seed,
            data_seed=self.seed,
            **dict(self.settings),
        )

    def key(self, *, base: RunConfig, code: str) -> str:
        """Names a finished run: its whole configuration and the version of the code."""
        text = self.config(base=base).as_yaml() + self.match + code
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _named(name: str, options: Options) -> str:
    inside = ",".join(f"{key}={value}" for key, value in options)
    return f"{name}({inside})" if inside else name


@lru_cache(maxsize=1)
def code_version() -> str:
    """A hash of every source file and asset that decides a run's numbers."""
    import vidshift

    root = Path(vidshift.__file__).parent
    digest = hashlib.blake2b(digest_size=6)
    files = [path for part in _DECIDES for path in (root / part).rglob("*.py") if path.name not in _ONLY_SHOWS]
    for path in sorted([*files, *(root / "assets").rglob("*.safetensors")]):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def parse_value(text: str) -> Any:
    """A number, a flag or nothing where it reads as one, else the text."""
    try:
        return json.loads("null" if text == "none" else text)
    except json.JSONDecodeError:
        return text


def parse_spec(text: str) -> tuple[str, Options]:
    """`lmft:policy=paired,initial_mu=0.01` -> its name and options."""
    name, _, rest = text.strip().partition(":")
    given = split_pairs(f"the options of {name!r}:", filter(None, rest.split(",")))
    return name, tuple(sorted((ALIASES.get(key, key), parse_value(value)) for key, value in given.items()))


def parse_row(text: str) -> Cell:
    """`METHOD [REDUCER[:options]] [setting=value ...] [match=ROW]`, such as `joint lmft:policy=paired gamma=0.6`."""
    words = text.split()
    if not words:
        raise UserError("a row of the plan is empty; write METHOD REDUCER, such as 'joint lmft'.", usage=True)
    specs = [word for word in words if "=" not in word or ":" in word.split("=")[0]]
    settings: dict[str, Any] = {}
    match = ""
    for word in words:
        if word in specs:
            continue
        name, _, value = word.partition("=")
        if name == "match":
            match = value.replace("+", " + ")
        else:
            settings[_setting(name)] = parse_value(value)
    if len(specs) > 2:
        raise UserError(f"the row {text!r} names more than a method and a reducer; write METHOD REDUCER.", usage=True)
    method, method_options = parse_spec(specs[0])
    reducer, reducer_options = parse_spec(specs[1]) if len(specs) == 2 else ("none", ())
    return Cell(
        source="",
        target="",
        method=method,
        reducer=reducer,
        method_options=method_options,
        reducer_options=reducer_options,
        settings=tuple(sorted(settings.items())),
        match=match,
    )


def _setting(name: str) -> str:
    known = {entry.name for entry in fields(RunConfig)}
    if name not in known:
        raise UserError(f"unknown setting {name!r}{did_you_mean(name, known)} in a row of the plan.", usage=True)
    return name


def check(cell: Cell) -> Cell:
    """The same cell with its options read as their types, once its method and reducer have accepted them."""
    from vidshift.methods.base import methods
    from vidshift.tokens.base import reducers

    method = read_options("method", cell.method, methods[cell.method], dict(cell.method_options))
    reducer = read_options("reducer", cell.reducer, reducers[cell.reducer], dict(cell.reducer_options))
    methods[cell.method](**method)
    reducers[cell.reducer](**reducer)
    return replace(cell, method_options=tuple(sorted(method.items())), reducer_options=tuple(sorted(reducer.items())))


def sweep(cells: Iterable[Cell], name: str, values: Sequence[Any]) -> list[Cell]:
    """Every cell at every value. `name` is `bias`, a setting of a run, or an option of a method or reducer: a cell
    that knows no such option stays as it is, once."""
    from vidshift.methods.base import methods
    from vidshift.tokens.base import reducers

    option = ALIASES.get(name, name)
    run_settings = {entry.name for entry in fields(RunConfig)}
    found: dict[Cell, None] = {}
    used = False
    for cell in cells:
        for value in values:
            if name == "bias":
                new = replace(cell, variant=_with_bias(cell.variant, value))
            elif option in options_of(reducers[cell.reducer]):
                new = replace(cell, reducer_options=_set(cell.reducer_options, option, value))
            elif option in options_of(methods[cell.method]):
                new = replace(cell, method_options=_set(cell.method_options, option, value))
            elif option in run_settings:
                new = replace(cell, settings=_set(cell.settings, option, value))
            else:
                found[cell] = None
                continue
            used = True
            found[new] = None
    if not used:
        raise UserError(
            f"--sweep {name}: neither a run nor any of the compared methods and reducers has such an option"
            f"{did_you_mean(option, run_settings)}.",
            usage=True,
        )
    return list(found)


def _set(options: Options, name: str, value: Any) -> Options:
    return tuple(sorted({**dict(options), name: value}.items()))


def _with_bias(variant: str, value: float) -> str:
    rest = [part for part in variant.split(",") if part and not part.startswith("bias=")]
    return ",".join([f"bias={value:g}", *rest])


def spread(
    rows: Iterable[Cell], *, directions: Iterable[str], variants: Iterable[str], seeds: Iterable[int]
) -> list[Cell]:
    """Every row in every direction, variant and seed, group after group."""
    found: dict[Cell, None] = {}
    for seed, variant, direction, row in product(seeds, variants, directions, rows):
        source, sign, target = direction.partition(":")
        if not sign or not source or not target:
            raise UserError(
                f"cannot read the direction {direction!r}; accepted: SOURCE:TARGET, such as studio:street.", usage=True
            )
        found[replace(row, source=source, target=target, variant=row.variant or variant, seed=seed)] = None
    return list(found)


def load_plan(path: Path) -> Mapping[str, Any]:
    """A plan file: `seeds`, `directions`, and `blocks` of `rows` with their `variants`, `sweep` and `seeds`."""
    import yaml

    try:
        plan = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read the plan {path}: {error.strerror}; give a YAML file or 'study'.") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path} is not readable YAML ({' '.join(str(error).split())[:120]}).") from None
    if not isinstance(plan, dict) or not isinstance(plan.get("blocks"), list):
        raise UserError(f"{path} has no list of blocks; a plan holds seeds, directions and blocks of rows.")
    return plan


def plan_cells(plan: Mapping[str, Any], *, seeds: Sequence[int] | None = None) -> dict[str, list[Cell]]:
    """Block name -> its cells, each checked."""
    blocks: dict[str, list[Cell]] = {}
    for block in plan["blocks"]:
        rows = [check(parse_row(text)) for text in block["rows"]]
        for name, values in (block.get("sweep") or {}).items():
            rows = sweep(rows, name, values)
        own = block.get("seeds", plan.get("seeds", 3))
        chosen = list(seeds) if seeds is not None else list(range(own)) if isinstance(own, int) else list(own)
        blocks[block["name"]] = spread(
            [check(row) for row in rows],
            directions=block.get("directions", plan.get("directions", ["studio:street"])),
            variants=block.get("variants", [""]),
            seeds=chosen,
        )
    return blocks
