"""What the parts of a data set are called in the wild."""

from vidshift.errors import unknown

# Folder, column or file name -> our name for it.
SPLITS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "validate": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluation": "test",
}


def split_of(name: str) -> str | None:
    return SPLITS.get(name.strip().casefold())


def require_split(name: str) -> str:
    """Our name for a split that a manifest names."""
    found = split_of(name)
    if found is None:
        raise unknown("split", name, SPLITS)
    return found
