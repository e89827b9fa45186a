"""The largest single draw from a CUDA generator until the first optimizer step, traced by a dispatch mode.

Draws larger than one launch of the device take another pattern on another GPU, so their size decides whether one seed
gives the same numbers on both. The mode calls every operator as it is and looks at the sizes of those that draw. Under
torch.compile, in fused attention or in cuDNN's own dropout, sizes do not tell: then the fact stays unread.
"""

from __future__ import annotations

import sys

from ..fingerprint.facts import unread
from ..guard import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FACT = "program.random.largest_cuda_draw"
_MODES = "torch.utils._python_dispatch"
#: operators that draw inside a kernel of another pattern, if they draw at all.
_OWN_PATTERN = ("attention", "rnn")


class Draws:
    """What was drawn on devices of one type, in the thread that imported torch."""

    def __init__(self, device: str = "cuda") -> None:
        self.device = device
        self.largest = 0
        self.known = True
        self._mode: Any = None
        self._torch: Any = None

    def begin(self, torch: Any) -> None:
        """Enter the mode in this thread."""
        modes = sys.modules.get(_MODES)
        base = getattr(modes, "TorchDispatchMode", None)
        tag = getattr(getattr(torch, "Tag", None), "nondeterministic_seeded", None)
        if base is None or tag is None or self._mode is not None:
            self.known = self._mode is not None
            return
        self._torch = torch
        self._mode = _mode(base, tag, guarded(self.note, "watching draws"))
        self._mode.__enter__()

    def note(self, operator: Any, arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> None:
        """Note one operator that may draw: its largest tensor is what it draws for."""
        if not hasattr(operator, "_schema"):
            self.known = False  # an operator made of others, which draw unseen within it
            return
        given = _by_name(operator, arguments, options)
        if any(given.get(name) is False for name in ("train", "training")) or not self._draws(given, result):
            return
        if any(word in str(operator) for word in _OWN_PATTERN):
            self.known = self.known and not (given.get("dropout_p", 0) or given.get("dropout", 0))
            return
        self.largest = max(self.largest, *(tensor.numel() for tensor in self._tensors(given, result)))

    def _draws(self, given: dict[str, Any], result: Any) -> bool:
        tensors = self._tensors(given, result)
        plain = (self._torch.Tensor, self._torch.nn.Parameter)
        if any(type(tensor) not in plain for tensor in tensors):
            self.known = False  # a tensor of many: what its parts draw is decided elsewhere
        return bool(tensors)

    def _tensors(self, given: dict[str, Any], result: Any) -> list[Any]:
        found = [*given.values(), *(result if isinstance(result, (tuple, list)) else (result,))]
        return [item for item in found if isinstance(item, self._torch.Tensor) and item.device.type == self.device]

    def step_done(self) -> None:
        """The first step is over."""
        self.end()

    def compiling(self) -> None:
        """Compiled code draws unseen, and no code is compiled under a mode."""
        self.known = False
        self.end()

    def elsewhere(self) -> None:
        """The program computes in another thread too, where no mode is."""
        self.known = False

    def end(self) -> None:
        """Leave the mode where it is the innermost one of this thread; under another it stays, and looks no more."""
        mode = self._mode
        if mode is None:
            return
        mode.looking = False
        stack = sys.modules[_MODES]._get_current_dispatch_mode_stack()
        if stack and stack[-1] is mode:
            mode.__exit__(None, None, None)
            self._mode = None

    def facts(self) -> dict[str, Any]:
        """Return the largest draw; absent where nothing was computed on such a device."""
        if not self.known or self._torch is None:
            return {FACT: unread("not-reported")}
        if self.device == "cuda" and not self._torch.cuda.is_initialized():
            return {FACT: None}
        return {FACT: self.largest}


def _by_name(operator: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    expected = operator._schema.arguments
    defaults = {argument.name: argument.default_value for argument in expected if argument.has_default_value()}
    return {**defaults, **dict(zip([argument.name for argument in expected], arguments)), **options}


def _mode(base: Any, tag: Any, note: Any) -> Any:
    """Return a mode that calls every operator as it is, then shows ``note`` those that may draw."""
    class Looking(base):  # type: ignore[misc]  # the class comes from the program's torch
        supports_higher_order_operators = True
        looking = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = kwargs or {}
            result = func(*args, **options)
            if self.looking and tag in getattr(func, "tags", (tag,)):
                note(func, args, options, result)
            return result

    return Looking()
