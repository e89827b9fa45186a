"""The folder that ``repro-env run`` puts first on PYTHONPATH; its ``sitecustomize`` is all it holds."""
