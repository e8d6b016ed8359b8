"""The published benchmarks: their tables against the files that are there.

`vidshift check daily-da --hmdb DIR --lists DIR` finds the files once and remembers them as manifests in the cache;
`daily-da:hmdb` opens one of them from then on.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol

from vidshift.data.benchmarks.report import BenchmarkReport
from vidshift.data.manifest import Manifest
from vidshift.data.manifests import read_manifest, write_manifest
from vidshift.errors import UserError, unknown
from vidshift.places import cache_folder

# Name -> its domains, each the name of the flag that says where its videos lie.
BENCHMARKS: Mapping[str, tuple[str, ...]] = {
    "daily-da": ("arid", "hmdb", "mit", "kinetics"),
    "ucf-hmdb": ("ucf", "hmdb"),
    "actorshift": ("kinetics", "animals"),
}


class Benchmark(Protocol):
    """What a module of this package offers."""

    def find(self, roots: Mapping[str, Path], lists: Path | None) -> BenchmarkReport: ...


def find_benchmark(name: str, roots: Mapping[str, Path], lists: Path | None = None) -> BenchmarkReport:
    """Expected against found for the domains whose folders are given; for all of them, as missing, where none is."""
    if name not in BENCHMARKS:
        raise unknown("benchmark", name, BENCHMARKS)
    for flag, folder in {**roots, **({"lists": lists} if lists else {})}.items():
        if not folder.expanduser().is_dir():
            raise UserError(f"--{flag} names '{folder}', which is no folder; check the path.", usage=True)
    module: Benchmark = import_module(f"vidshift.data.benchmarks.{name.replace('-', '_')}")  # pyright: ignore
    expanded = {flag: folder.expanduser().absolute() for flag, folder in roots.items()}
    return module.find(expanded, lists.expanduser() if lists else None)


def check_benchmark(
    name: str, roots: Mapping[str, Path], lists: Path | None = None, *, cache: Path | None = None
) -> tuple[BenchmarkReport, tuple[Path, ...]]:
    """The report, and the files that were written: a manifest for each domain that was found, and for each that is
    not whole the names that are missing, one a line."""
    report = find_benchmark(name, roots, lists)
    written: list[Path] = []
    for domain, manifest in report.manifests.items():
        path = _manifest_file(name, domain, cache)
        wanted = path.with_name(f"{name}-{domain}-missing.txt")
        missing = report.missing.get(domain, ())
        if len(missing) < len(manifest):
            written.append(write_manifest(manifest, path))
        if missing:
            wanted.parent.mkdir(parents=True, exist_ok=True)
            wanted.write_text("".join(f"{line}\n" for line in missing), encoding="utf-8", errors="surrogateescape")
            written.append(wanted)
        else:
            wanted.unlink(missing_ok=True)
    return report, tuple(written)


def is_benchmark(spec: str) -> bool:
    return spec.partition(":")[0] in BENCHMARKS


def open_benchmark(spec: str, *, cache: Path | None = None, domain: str | None = None) -> Manifest:
    """The manifest that `check` has written for `daily-da:hmdb`."""
    name, _, part = spec.partition(":")
    accepted = [f"{name}:{known}" for known in BENCHMARKS[name]]
    if part not in BENCHMARKS[name]:
        raise unknown(f"domain of {name}", spec, accepted)
    path = _manifest_file(name, part, cache)
    if not path.is_file():
        flags = "--actorshift FOLDER" if name == "actorshift" else f"--{part} FOLDER --lists FOLDER"
        raise UserError(f"{spec!r} has not been looked for on this machine; run `vidshift check {name} {flags}` once.")
    return read_manifest(path, domain=domain)


def _manifest_file(name: str, domain: str, cache: Path | None) -> Path:
    return cache_folder(cache) / "benchmarks" / f"{name}-{domain}.parquet"
