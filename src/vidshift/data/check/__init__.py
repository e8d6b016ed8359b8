"""Looking at every video once, before training does: a status and a reason for each."""

from vidshift.data.check.findings import Finding
from vidshift.data.check.run import Look, check_manifest, checked

__all__ = ["Finding", "Look", "check_manifest", "checked"]
