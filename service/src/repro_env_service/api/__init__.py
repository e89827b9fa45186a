"""The routes, one module a resource, in the order in which they are listed."""

from __future__ import annotations

from . import comparisons, health, manifests, observations, projects, runs, schemas, stacks, start

ROUTERS = (observations.router, runs.router, comparisons.router, stacks.router, projects.router, manifests.router,
           schemas.router, health.router, start.router)
