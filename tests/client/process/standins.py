"""A stand-in for torch, for tests whose point is not torch: its hooks and nothing else, at no cost."""

from __future__ import annotations

#: lines that put a module ``torch`` into the program, and ``step()``: one optimizer step.
TORCH = """
import sys, types
def _torch():
    hooks = []
    class Handle:
        def __init__(self, hook): self.hook = hook
        def remove(self): hooks.remove(self.hook)
    def register(hook):
        hooks.append(hook)
        return Handle(hook)
    names = ("torch", "torch.optim", "torch.optim.optimizer", "torch.nn", "torch.nn.modules", "torch.nn.modules.module")
    modules = {name: types.ModuleType(name) for name in names}
    modules["torch"].default_generator = types.SimpleNamespace(initial_seed=lambda: 2**60)
    modules["torch"].is_grad_enabled = lambda: True
    modules["torch.optim.optimizer"].register_optimizer_step_post_hook = register
    for kind in ("forward_hook", "forward_pre_hook"):
        setattr(modules["torch.nn.modules.module"], "register_module_" + kind, lambda hook: Handle(hook)
                if hooks.append(hook) else Handle(hook))
    class Loader:
        def create_module(self, spec): return modules[spec.name]
        def exec_module(self, module): sys.modules.update(modules)
    class Finder:
        def find_spec(self, name, path=None, target=None):
            from importlib.machinery import ModuleSpec
            return ModuleSpec(name, Loader(), is_package=True) if name == "torch" else None
    sys.meta_path.insert(2, Finder())  # behind hooks that wait for torch, before what finds the real one
    return hooks
_hooks = _torch()
import torch
def step():
    for hook in list(_hooks):
        if "step" in hook.__name__:
            hook(None, (), {})
"""
