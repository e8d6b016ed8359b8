"""Everything needed to repeat a run, as one frozen object and one YAML file."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_origin, get_type_hints

import yaml

from vidshift.engine.options import read_value
from vidshift.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CONFIG_VERSION = 1
SPLITS = ("train", "val", "test")

_RANGES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "gamma": ("a confidence from 0 (keep all) to 1", lambda x: 0 <= x <= 1),
    "frames": ("1 or more", lambda x: x >= 1),
    "epochs": ("1 or more", lambda x: x >= 1),
    "batch": ("1 or more", lambda x: x >= 1),
    "lr": ("a number above 0", lambda x: 0 < x < math.inf),
    "weight_decay": ("0 or more", lambda x: 0 <= x < math.inf),
    "warmup": ("a share of the steps from 0 to 1", lambda x: 0 <= x <= 1),
    "layer_decay": ("0 (the backbone's own) to 1", lambda x: 0 <= x <= 1),
    "drop_path": ("0 or more and below 1", lambda x: 0 <= x < 1),
    "size": ("0 (the backbone's own) or more", lambda x: x >= 0),
    "save_every": ("0 (after each epoch only) or more", lambda x: x >= 0),
}

Settings = TypeVar("Settings", bound="DataclassInstance")


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Defaults are the paper's where it states them (batch 32 counts both domains), else tokens.md section 12."""

    source: str = "studio"
    target: str = "street"
    method: str = "joint"
    method_options: Mapping[str, Any] = field(default_factory=dict)
    reducer: str = "lmft"
    reducer_options: Mapping[str, Any] = field(default_factory=dict)
    backbone: str = ""
    """Empty, as the teacher: `engine.defaults` names it by the data."""
    backbone_options: Mapping[str, Any] = field(default_factory=dict)
    teacher: str = ""
    teacher_options: Mapping[str, Any] = field(default_factory=dict)
    gamma: float = 0.8
    variant: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    data_seed: int = 0
    class_map: Mapping[str, str] = field(default_factory=dict)
    """Class name of either domain -> the class it means; an empty one leaves the class out."""
    unlabelled: bool = False
    """Whether the target's folders are no classes."""
    transductive: bool = False
    frames: int = 16
    size: int = 0
    """Height and width of a clip in pixels; 0: the backbone's own."""
    epochs: int = 6
    batch: int = 16
    lr: float = 1e-3
    weight_decay: float = 0.05
    warmup: float = 0.1
    layer_decay: float = 0
    """0: the backbone's own (`engine.defaults`)."""
    drop_path: float = 0.1
    augment: bool = True
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 0
    checkpoint: Literal["last", "oracle"] = "last"
    save_every: int = 0
    """Steps between saved states beside the one after each epoch; 0: none."""

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(RunConfig).items():
            value = getattr(self, name)
            if get_origin(hint) is Mapping:
                if not isinstance(value, Mapping):
                    raise UserError(f"{name} cannot be {value!r}; accepted: names with values.", usage=True)
            else:
                object.__setattr__(self, name, read_value(name, value, hint))
        for name, (accepted, fits) in _RANGES.items():
            value = getattr(self, name)
            if not fits(value):
                raise UserError(f"{name} cannot be {value:g}; accepted: {accepted}.", usage=True)
        for name, count in self.sizes.items():
            if name not in SPLITS:
                raise UserError(f"sizes knows no split {name!r}; accepted: {', '.join(SPLITS)}.", usage=True)
            if read_value(f"sizes.{name}", count, int) < 1:
                raise UserError(f"sizes.{name} cannot be {count}; accepted: 1 or more.", usage=True)

    def as_yaml(self) -> str:
        return settings_yaml(self)


def settings_yaml(settings: "DataclassInstance") -> str:
    """The settings of a run as its `config.yaml`."""
    return yaml.safe_dump({"version": CONFIG_VERSION, **_plain(asdict(settings))}, sort_keys=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def load_config(path: Path) -> RunConfig:
    """A run's `config.yaml`."""
    return load_settings(path, RunConfig)


def load_settings(path: Path, made: type[Settings]) -> Settings:
    """The settings in a `config.yaml`; a file that this version cannot follow is refused in one sentence."""
    try:
        found = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise UserError(
            f"{path} does not exist, so {path.parent} is not a run folder; give the folder of a run."
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} is not readable YAML ({type(error).__name__}); restore it or start a new run."
        ) from None
    if not isinstance(found, dict) or not isinstance(found.get("version"), int):
        raise UserError(f"{path} has no version number; it is not the configuration of a run.")
    version = found.pop("version")
    if version > CONFIG_VERSION:
        raise UserError(
            f"{path} was written by a newer VidShift (configuration {version}; this one reads up to {CONFIG_VERSION}): "
            "upgrade VidShift to use this run."
        )
    known = {entry.name for entry in fields(made)}
    for name in found:
        if name not in known:
            raise UserError(f"{path} sets {name!r}, which is not a setting{did_you_mean(name, known)}.")
    try:
        return made(**found)
    except UserError as error:
        raise UserError(f"{path} cannot be followed: {error}") from None
