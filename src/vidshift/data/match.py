"""Two domains -> one class list: classes are matched by name, and what does not match is shown with a suggestion."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from vidshift.data.classes import ClassList, fold
from vidshift.data.manifest import Manifest
from vidshift.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Match:
    """Both domains in the source's classes. `renamed` says which target name became which; `left_out` (target names
    that mean no class) and `missing` (classes that the target lacks) are left for the caller to show."""

    source: Manifest
    target: Manifest
    renamed: dict[str, str]
    left_out: tuple[str, ...]
    missing: tuple[str, ...]

    def notes(self) -> tuple[str, ...]:
        """What was done about names, in words."""
        shown = [f"the target's {old!r} was read as {new!r}" for old, new in self.renamed.items() if old != new]
        if self.missing:
            shown.append(f"the target has no video of: {', '.join(self.missing)}")
        return tuple(shown)


def parse_map(pairs: "Mapping[str, str] | tuple[str, ...] | list[str]") -> dict[str, str]:
    """`--map old=new` as often as needed; an empty new name (`old=`) leaves that class out."""
    if isinstance(pairs, Mapping):
        return dict(pairs)
    found: dict[str, str] = {}
    for pair in pairs:
        old, sign, new = pair.partition("=")
        if not sign or not old.strip():
            raise UserError(
                f"cannot read the class mapping {pair!r}; accepted: old=new, such as strolling=walk.", usage=True
            )
        found[old.strip()] = new.strip()
    return found


def rename(
    manifest: Manifest,
    *,
    classes: tuple[str, ...],
    aliases: ClassList | None = None,
    mapping: Mapping[str, str] | None = None,
) -> tuple[Manifest, dict[str, str], tuple[str, ...]]:
    """The manifest in given classes: (manifest, old -> new, names that mean none). `mapping` wins over everything."""
    mapping = mapping or {}
    unknown = [name for name in mapping if name not in manifest.classes]
    if unknown:
        raise UserError(
            f"the mapping names {unknown[0]!r}, which is no class of {manifest.origin or 'the data'}"
            f"{did_you_mean(unknown[0], manifest.classes)}; its classes: {', '.join(manifest.classes) or 'none'}.",
            usage=True,
        )
    known = ClassList(classes, aliases.aliases if aliases else {})
    became: dict[str, str] = {}
    lost: list[str] = []
    used = {row.label for row in manifest.rows}
    for name in manifest.classes:
        if name not in used and name not in mapping:
            continue  # declared, but no video has it
        if mapping.get(name) == "":
            became[name] = ""
            continue
        new = known.find(mapping.get(name, name))
        if new is None or new not in classes:
            if name in mapping:
                raise UserError(
                    f"the mapping sends {name!r} to {mapping[name]!r}, which is no class"
                    f"{did_you_mean(mapping[name], classes)}; accepted: {', '.join(classes)}.",
                    usage=True,
                )
            lost.append(name)
        else:
            became[name] = new
    rows = tuple(
        row
        if row.label is None
        else replace(row, label=became.get(row.label, row.label), raw_label=row.raw_label or row.label)
        for row in manifest.rows
        if row.label is None or became.get(row.label) != ""
    )
    return replace(manifest, rows=rows, classes=classes), {k: v for k, v in became.items() if v}, tuple(lost)


def match(
    source: Manifest,
    target: Manifest,
    *,
    mapping: "Mapping[str, str] | tuple[str, ...]" = (),
    aliases: ClassList | None = None,
) -> Match:
    """Puts both domains into the source's classes, or says which names do not fit and what would settle it.

    `mapping` may name classes of either domain. A target without labels needs nothing.
    """
    pairs = parse_map(mapping)
    unknown = [name for name in pairs if name not in source.classes and name not in target.classes]
    if unknown:
        options = (*source.classes, *target.classes)
        raise UserError(
            f"--map names {unknown[0]!r}, which is no class of either domain{did_you_mean(unknown[0], options)}.",
            usage=True,
        )
    classes = _source_classes(source, aliases, pairs)
    source, _, lost_source = rename(
        source, classes=classes, aliases=aliases, mapping={k: v for k, v in pairs.items() if k in source.classes}
    )
    if lost_source:
        raise UserError(
            f"the source's class {lost_source[0]!r} is not in the class list{did_you_mean(lost_source[0], classes)}; "
            f"add it there, or pass --map {lost_source[0]}=NAME."
        )
    if not target.classes or not any(row.label is not None for row in target.rows):
        return Match(source, replace(target, classes=classes), {}, (), ())
    of_target = {k: v for k, v in pairs.items() if k in target.classes}
    renamed, became, lost = rename(target, classes=classes, aliases=aliases, mapping=of_target)
    if lost:
        raise _disagreement(classes, became, lost)
    missing = tuple(name for name in classes if name not in set(became.values()))
    return Match(source, renamed, became, tuple(k for k, v in of_target.items() if v == ""), missing)


def _source_classes(source: Manifest, aliases: ClassList | None, pairs: Mapping[str, str]) -> tuple[str, ...]:
    if not source.rows:
        raise UserError(f"the source ({source.origin or 'no origin'}) holds no videos; point at one that does.")
    if not source.labelled:
        bare = sum(row.label is None for row in source.rows)
        raise UserError(
            f"{bare} of {len(source)} source videos have no label ({source.origin}); the source needs class folders, "
            "or a list or manifest with labels."
        )
    if aliases is not None:
        return aliases.names
    used = Counter(pairs.get(row.label, row.label) for row in source.rows if row.label is not None)
    used.pop("", None)
    names = [pairs.get(name, name) for name in source.classes]
    classes = tuple(dict.fromkeys(name for name in names if name in used))
    folded: dict[str, str] = {}
    for name in classes:
        other = folded.setdefault(fold(name), name)
        if other is not name:
            raise UserError(
                f"the source names one class twice, {other!r} and {name!r}; pass --map '{name}={other}' to join them."
            )
    if len(classes) < 2:
        what = f"one class only, {classes[0]!r}" if classes else "no class left"
        raise UserError(
            f"the source has {what} ({source.origin}); recognising actions needs two or more: "
            "point at the folder above the class folders."
        )
    return classes


def _disagreement(classes: tuple[str, ...], became: Mapping[str, str], lost: tuple[str, ...]) -> UserError:
    free = [name for name in classes if name not in set(became.values())]
    first = lost[0]
    guess = did_you_mean(first, free or classes)
    shown = "; ".join(f"{name!r}{did_you_mean(name, free or classes)}" for name in lost[:8])
    more = f" and {len(lost) - 8} more" if len(lost) > 8 else ""
    like = guess.split("'")[1] if guess else (free or list(classes))[0]
    return UserError(
        f"{len(lost)} target classes are not among the source's: {shown}{more}; the source has {', '.join(classes)}; "
        f"pass --map '{first}={like}' (or '{first}=' to leave it out), or --unlabelled if the target's folders are no "
        "classes."
    )


def share(key: str) -> float:
    """A number in [0, 1) from a clip's id alone, the same everywhere and for ever."""
    return int.from_bytes(hashlib.sha256(key.encode(errors="surrogatepass")).digest()[:8], "big") / 2**64


def holdout(manifest: Manifest, *, fraction: float = 0.2, by_class: bool = False) -> Manifest:
    """Splits a manifest without a split into `train` and `test` by a hash of each id; one with splits stays as it is.

    Each clip is judged by its own id alone, so that one which was held out stays so when others are added, and labels
    decide nothing. Only where that leaves a part empty does the clip with the lowest (or highest) hash change sides;
    with `by_class` every class keeps a training clip.
    """
    if not 0 < fraction < 1:
        raise UserError(
            f"cannot hold out the fraction {fraction:g}; accepted: between 0 and 1, such as 0.2.", usage=True
        )
    if any(row.split is not None for row in manifest.rows):
        return manifest
    groups: dict[str | None, list[str]] = {}
    for row in manifest.rows:
        groups.setdefault(row.label if by_class else None, []).append(row.id)
    held = {row.id for row in manifest.rows if share(row.id) < fraction}
    for ids in groups.values():
        if held.issuperset(ids):
            held.discard(max(ids, key=lambda key: (share(key), key)))
    if not held:
        spare = [key for ids in groups.values() if len(ids) > 1 for key in ids]
        held.update(sorted(spare, key=lambda key: (share(key), key))[:1])
    rows = tuple(replace(row, split="test" if row.id in held else "train") for row in manifest.rows)
    return replace(manifest, rows=rows)
