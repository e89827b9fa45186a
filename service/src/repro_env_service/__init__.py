"""The service of repro-env: stores observations, answers whether runs are comparable, warns when they are not.

The path of a document: ``api`` receives bytes → ``ingest`` checks and stores them → ``folding`` brings the run up to
date → ``judging`` holds it against others under the policy of its project (``policies``), ``several`` many at once.
Judging itself lives in ``repro_env.comparability``.
"""

from __future__ import annotations

__version__ = "0.1.0"
