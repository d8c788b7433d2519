"""AUC models for river, which learn from one row after the other. Needs the extra `river`."""

from vrspam._utils.messages import require

require("river", "river")  # its message says what to install; a failed import below would not

# ruff: noqa: E402
from vrspam.online._river import RiverAUC

__all__ = ["RiverAUC"]
