"""A tree of folders -> a manifest: class folders, with or without a split level, or no labels at all."""

from collections import Counter
from pathlib import Path

from vidshift.data.manifest import Manifest, Row
from vidshift.data.names import readable, unique_ids
from vidshift.data.splits import SPLITS
from vidshift.data.tree import Tree, scan
from vidshift.errors import UserError


def read_folder(root: Path, *, unlabelled: bool = False, domain: str | None = None) -> Manifest:
    """Class folders `<class>/*` and `<split>/<class>/*`, or a flat folder (unlabelled), told by their depth."""
    tree = scan(root)
    if not tree.names:
        raise UserError(
            f"no video in the folder '{root}'; accepted: video files ({', '.join(['.mp4', '.avi', '.mkv', '.webm'])} "
            "...) or folders of numbered pictures, in class folders or flat."
        )
    deep = has_split_level(tree)
    rows: list[Row] = []
    stray = 0
    for name, key in zip(tree.names, unique_ids(tree.names)):
        parts = name.split("/")
        split = SPLITS[parts[0].casefold()] if deep and parts[0].casefold() in SPLITS and len(parts) > 1 else None
        above = parts[1:-1] if split else parts[:-1]
        label = readable(above[-1]) if len(above) == 1 else None
        stray += len(above) > 1
        label = None if unlabelled else label
        rows.append(Row(id=key, path=root / name, label=label, raw_label=label, split=split, domain=domain))
    # Where all of them lie deep it is a tree with some order of its own (cameras, dates), and no classes.
    if 0 < stray < len(rows) and not unlabelled:
        raise UserError(
            f"{stray} of {len(rows)} videos in '{root}' lie deeper than class folders do "
            f"(the first: '{_first_stray(tree, deep)}'); accepted: <class>/VIDEO or <split>/<class>/VIDEO for "
            "labelled data, or pass a manifest that names the labels."
        )
    labels = sorted({row.label for row in rows if row.label is not None})
    loose = sum(row.label is None for row in rows)
    if labels and loose:
        rows, loose_note = _settle_mixed(root, rows, loose)
    else:
        loose_note = ()
    kind = "class folders" if labels else "videos without labels"
    splits = Counter(row.split for row in rows if row.split)
    below = f" in the splits {', '.join(f'{k} ({v})' for k, v in sorted(splits.items()))}" if splits else ""
    pictures = f", {len(tree.frames)} of them folders of pictures" if tree.frames else ""
    origin = f"{kind} in '{root}'{below}{pictures}"
    return Manifest(tuple(rows), tuple(labels), origin, (*tree.notes, *loose_note, *_empty_folders(tree)))


def _empty_folders(tree: Tree) -> tuple[str, ...]:
    """Folders that look like classes but hold no video: a download that stopped, perhaps."""
    above = {name.rpartition("/")[0] for name in (*tree.names, *tree.folders)}
    empty = [readable(name) for name in tree.folders if name not in above]
    if not empty:
        return ()
    more = f" and {len(empty) - 5} more" if len(empty) > 5 else ""
    return (f"no video in: {', '.join(empty[:5])}{more}",)


def _settle_mixed(root: Path, rows: list[Row], loose: int) -> tuple[list[Row], tuple[str, ...]]:
    """Videos beside class folders: unlabelled where a whole split is flat (Kinetics test sets), a mistake elsewhere."""
    labelled_splits = {row.split for row in rows if row.label is not None}
    where = {row.split for row in rows if row.label is None}
    if where & labelled_splits:
        first = next(row for row in rows if row.label is None and row.split in labelled_splits)
        raise UserError(
            f"'{first.path}' lies beside class folders ({loose} of {len(rows)} videos in '{root}' do), so its class is "
            "unknown; move it into a class folder or out of the folder."
        )
    return rows, (f"{loose} videos in {', '.join(sorted(str(s) for s in where))} have no class folder: no labels",)


def _first_stray(tree: Tree, deep: bool) -> str:
    return next(name for name in tree.names if name.count("/") > (2 if deep else 1))


def has_split_level(tree: Tree) -> bool:
    """Whether the first level names splits: every top folder does, or some do and hold folders themselves."""
    tops = {name.split("/")[0].casefold() for name in tree.names if "/" in name}
    if not tops or not any(top in SPLITS for top in tops):
        return False
    if all(top in SPLITS for top in tops):
        return True
    return any(name.split("/")[0].casefold() in SPLITS and name.count("/") >= 2 for name in tree.names)
