"""The machine that numbers come from: no time is worth anything without it."""

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True, kw_only=True)
class Host:
    device: str
    cores: int
    threads: int
    instructions: str
    system: str
    python: str
    torch_version: str

    @classmethod
    def here(cls, device: torch.device) -> "Host":
        return cls(
            device=torch.cuda.get_device_name(device) if device.type == "cuda" else cpu_name(),
            cores=os.cpu_count() or 1,
            threads=torch.get_num_threads(),
            instructions=instructions(),
            system=f"{platform.system()} {platform.machine()}",
            python=platform.python_version(),
            torch_version=str(torch.__version__),
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.device}, {self.threads} of {self.cores} cores ({self.instructions}), {self.system}, "
            f"python {self.python}, torch {self.torch_version}"
        )


def cpu_name() -> str:
    """The processor's model, as exactly as the system says it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        fields = (line.partition(":") for line in info.read_text().splitlines())
        found = {name.strip(): value.strip() for name, _, value in fields}
        if "model name" in found:
            numbers = [f"{name} {found[name]}" for name in ("cpu family", "model", "stepping") if name in found]
            return f"{found['model name']} ({', '.join(numbers)})"
    return platform.processor() or platform.machine()


def instructions() -> str:
    """What PyTorch's kernels use, and whether half precision has matrix instructions of its own."""
    names = [torch.backends.cpu.get_cpu_capability()]
    info = Path("/proc/cpuinfo")
    flags = info.read_text() if info.exists() else ""
    names += [label for label, flag in (("bf16", "avx512_bf16"), ("AMX", "amx_bf16")) if flag in flags]
    return " ".join(names)
