"""How much memory a process holds."""

import resource
import sys
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Memory:
    """Bytes: before the first step (network and clips are there), after it, and at the highest point."""

    before: int
    after: int
    peak: int


def _status(field: str) -> int | None:
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    for line in status.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return None


def peak(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def resident(device: torch.device) -> int:
    """What the process holds now; where the system does not tell, the most it has held so far."""
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else _status("VmRSS") or peak(device)
