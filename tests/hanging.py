"""How long nothing that is bounded may take, on the slowest of machines."""

from __future__ import annotations

#: seconds. What is held to it takes about one or ends by a limit of a few; what it guards against takes minutes: a
#: reader that looks back at every line, a call that never returns.
HANGING_S = 20
