"""``python -m repro_env_service``."""

from __future__ import annotations

import sys

from .cli import main

sys.exit(main())
