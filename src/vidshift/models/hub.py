"""The Hugging Face hub: what an id fetches and under which licence, fetching it, and the ways out."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidshift.errors import UserError

NON_COMMERCIAL = "CC BY-NC 4.0: non-commercial use only"
_VIDEOMAE2 = "the card says Apache-2.0, the same authors' VideoMAEv2-* repositories CC BY-NC 4.0 (non-commercial)"

MODEL_FILES = ("config.json", "*.safetensors")
MODEL_WAYS_OUT = "give a run folder, or a model folder on this machine"


@dataclass(frozen=True)
class Download:
    """What a hub id would fetch, said before it starts."""

    name: str
    megabytes: int | None
    licence: str

    def __str__(self) -> str:
        size = "size unknown" if self.megabytes is None else f"about {self.megabytes} MB"
        return f"{self.name} ({size}; licence: {self.licence})"


def _catalogue(*entries: tuple[str, int, str]) -> Mapping[str, Download]:
    return {name: Download(name, megabytes, licence) for name, megabytes, licence in entries}


# Sizes are parameters times their bytes: float32, VideoMAE V2's distilled files in half precision. Names and licences:
# tokens.md section 7.3.
CATALOGUE = _catalogue(
    ("MCG-NJU/videomae-base", 377, NON_COMMERCIAL),
    ("MCG-NJU/videomae-base-short", 377, NON_COMMERCIAL),
    ("MCG-NJU/videomae-base-ssv2", 377, NON_COMMERCIAL),
    ("MCG-NJU/videomae-base-short-ssv2", 377, NON_COMMERCIAL),
    ("MCG-NJU/videomae-base-finetuned-kinetics", 346, NON_COMMERCIAL),
    ("MCG-NJU/videomae-base-short-finetuned-kinetics", 346, NON_COMMERCIAL),
    ("MCG-NJU/videomae-base-finetuned-ssv2", 345, NON_COMMERCIAL),
    ("MCG-NJU/videomae-base-short-finetuned-ssv2", 345, NON_COMMERCIAL),
    ("MCG-NJU/videomae-small-finetuned-kinetics", 88, NON_COMMERCIAL),
    ("MCG-NJU/videomae-small-finetuned-ssv2", 88, NON_COMMERCIAL),
    ("MCG-NJU/videomae-large", 1372, NON_COMMERCIAL),
    ("MCG-NJU/videomae-large-finetuned-kinetics", 1217, NON_COMMERCIAL),
    ("MCG-NJU/videomae-huge-finetuned-kinetics", 2531, NON_COMMERCIAL),
    ("OpenGVLab/VideoMAE2/distill/vit_s_k710_dl_from_giant.pth", 45, _VIDEOMAE2),
    ("OpenGVLab/VideoMAE2/distill/vit_b_k710_dl_from_giant.pth", 174, _VIDEOMAE2),
    ("OpenGVLab/VideoMAEv2-Base", 345, NON_COMMERCIAL),
    ("OpenGVLab/VideoMAEv2-Large", 1216, NON_COMMERCIAL),
    ("openai/clip-vit-base-patch16", 599, "MIT (code); none is named for the weights"),
    ("openai/clip-vit-base-patch32", 605, "MIT (code); none is named for the weights"),
    ("openai/clip-vit-large-patch14", 1711, "MIT (code); none is named for the weights"),
    ("facebook/dinov2-small", 88, "Apache-2.0"),
    ("facebook/dinov2-base", 346, "Apache-2.0"),
    ("facebook/dinov2-large", 1217, "Apache-2.0"),
)


def described(name: str) -> Download:
    """What is known of an id; an unknown one says so."""
    return CATALOGUE.get(name, Download(name, None, "see its model card"))


def is_hub_id(text: str) -> bool:
    """`owner/name`, and not something that reads as a path."""
    owner, _, name = text.partition("/")
    return bool(owner and name) and "/" not in name and not text.startswith((".", "/", "~"))


def is_offline() -> bool:
    """Whether the environment forbids downloads (read now: the hub's own constant is from when it was imported)."""
    values = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    return any(value.upper() in ("1", "ON", "YES", "TRUE") for value in values)


def is_cached(name: str, file: str = "config.json") -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, file), str)


def split_file(text: str) -> tuple[str, str] | None:
    """`owner/name/path/in/it.pth` -> the repository and the file in it; None for anything else."""
    owner, name, file = (*text.split("/", 2), "", "")[:3]
    return (f"{owner}/{name}", file) if file and is_hub_id(f"{owner}/{name}") else None


def download_needed(where: str) -> Download | None:
    """What opening an id would fetch; None where it is on this machine, or names nothing on the hub."""
    if Path(where).expanduser().exists():
        return None
    if is_hub_id(where):
        return None if is_cached(where) else described(where)
    parts = split_file(where)
    return described(where) if parts and not is_cached(*parts) else None


def download(name: str, *, files: Sequence[str] = MODEL_FILES, ways_out: str = MODEL_WAYS_OUT, **settings: Any) -> Path:
    """The folder with a repository's files, from the local cache or the hub.

    What is incomplete in the cache is fetched again, unless the environment forbids it. `settings` are those of
    `huggingface_hub.snapshot_download`, such as `revision` or `token`.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    try:
        settings = {**settings, "local_files_only": settings.get("local_files_only") or is_offline()}
        return Path(snapshot_download(name, allow_patterns=list(files), **settings))
    except HFValidationError:
        raise UserError(f"{name!r} is no hub id such as 'owner/name'; {ways_out}.", usage=True) from None
    except (EntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise not_fetched(name, error, ways_out) from error


def download_file(repository: str, file: str, *, ways_out: str) -> Path:
    """One file of a repository, from the local cache or the hub."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    try:
        return Path(hf_hub_download(repository, file, local_files_only=is_offline()))
    except HFValidationError:
        raise UserError(f"{repository!r} is no hub id such as 'owner/name'; {ways_out}.", usage=True) from None
    except (EntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise not_fetched(f"{repository}/{file}", error, ways_out) from error


def not_fetched(name: str, reason: object, ways_out: str) -> UserError:
    """The one sentence for a download that cannot happen."""
    if is_offline():
        return UserError(f"{name} is not in the local cache and HF_HUB_OFFLINE forbids a download; {ways_out}.")
    short = " ".join(str(reason).split())[:160].rstrip(". ")
    return UserError(f"{described(name)} could not be downloaded ({short}); {ways_out}.")
