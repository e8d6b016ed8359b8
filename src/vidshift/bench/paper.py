"""The numbers printed in the paper, for reading beside ours: other data, another backbone, never in one ranking."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Printed:
    """One printed table: its columns and rows, as they stand there."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        lines = [f"**{self.title}**", "", _line(self.columns), _line(["---"] * len(self.columns))]
        return "\n".join([*lines, *map(_line, self.rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


REDUCTION = Printed(
    title="Daily-DA, the paper's training and inference efficiency (ViT-B/16; its FLOPs count linear layers only)",
    columns=("direction", "tokens", "accuracy", "training", "GFLOPs"),
    rows=(
        ("M->H", "all", "72.1", "3810 s", "266"),
        ("M->H", "random", "71.7", "3209 s", "216"),
        ("M->H", "ToMe", "72.5", "4117 s", "242"),
        ("M->H", "PruMerge", "71.7", "3630 s", "493"),
        ("M->H", "DivPrune", "72.9", "16961 s", "223"),
        ("M->H", "LMFT", "74.2", "2784 s", "217"),
        ("H->M", "all", "57.5", "1211 s", "266"),
        ("H->M", "random", "56.5", "1016 s", "218"),
        ("H->M", "ToMe", "59.0", "1194 s", "243"),
        ("H->M", "PruMerge", "57.9", "930 s", "496"),
        ("H->M", "DivPrune", "56.5", "4141 s", "226"),
        ("H->M", "LMFT", "60.0", "890 s", "218"),
    ),
)

BOUNDS = Printed(
    title="Daily-DA, the paper's main table (mean of 12 directions as printed; its row mean is 63.7, not 64.5)",
    columns=("method", "M->H", "H->M", "mean"),
    rows=(
        ("Source Only", "68.8", "47.5", "52.3"),
        ("CLIP zero-shot", "60.0", "48.5", "53.3"),
        ("joint, all tokens", "72.1", "57.5", "62.0"),
        ("joint + LMFT", "74.2", "60.0", "64.5"),
        ("Target Only", "86.3", "72.8", "82.7"),
    ),
)

CONFIDENCE = Printed(
    title="Confidence threshold gamma_c, the paper's ablation",
    columns=("gamma", "M->H", "H->M"),
    rows=(
        ("0.0", "68.8", "54.3"),
        ("0.2", "67.5", "57.0"),
        ("0.4", "68.8", "52.7"),
        ("0.6", "72.5", "57.7"),
        ("0.8", "74.2", "60.0"),
        ("1.0", "68.8", "47.5"),
    ),
)

REWARD = Printed(
    title="Reward coefficient lambda_L, the paper's ablation",
    columns=("lambda_L", "M->H", "H->M"),
    rows=(("0.1", "73.3", "56.7"), ("1", "73.8", "57.0"), ("10", "74.2", "60.0"), ("100", "72.8", "58.5")),
)

FRAMES = Printed(
    title="Temporal segments N_t (two frames each), the paper's ablation",
    columns=("direction", "tokens", "N_t=2", "N_t=4", "N_t=6", "N_t=8"),
    rows=(
        ("M->H", "all", "64.2", "69.2", "70.4", "72.1"),
        ("M->H", "random", "63.3", "67.5", "70.4", "71.7"),
        ("M->H", "LMFT", "65.4", "71.3", "73.3", "74.2"),
        ("H->M", "all", "48.0", "50.0", "53.5", "57.5"),
        ("H->M", "random", "46.7", "52.0", "52.5", "56.5"),
        ("H->M", "LMFT", "49.8", "52.3", "54.0", "60.0"),
    ),
)

ALL: tuple[Printed, ...] = (BOUNDS, REDUCTION, CONFIDENCE, REWARD, FRAMES)
