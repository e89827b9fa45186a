"""Digests of results: bytes, arrays, tensors and the containers programs keep them in.

A digest covers element type, shape and bytes, mappings in sorted key order, so a NumPy array and a torch tensor of
equal content have one digest. Imports neither: it asks the value for what it is.
"""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXPECTED = "a digest sha256:<64 hex digits>, bytes, an array, a tensor, a module, or a mapping or list of them"


def result_digest(value: Any) -> str:
    """Return the digest of a result, or the digest that ``value`` already is; raise ``TypeError`` for other values."""
    if isinstance(value, str):
        if is_digest(value):
            return value
        raise TypeError(f"expected {EXPECTED}, got a text of {len(value)} characters")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "sha256:" + hashlib.sha256(value).hexdigest()
    digest = hashlib.sha256()
    _feed(digest, value, 0)
    return "sha256:" + digest.hexdigest()


def is_digest(text: str) -> bool:
    """Tell whether ``text`` is ``sha256:`` and 64 lower-case hexadecimal digits."""
    return text.startswith("sha256:") and len(text) == 71 and not set(text[7:]) - set("0123456789abcdef")


def _feed(digest: Any, value: Any, depth: int) -> None:
    """Add one value, framed so that no two values feed the same bytes."""
    if depth > 32:
        raise TypeError(f"expected {EXPECTED}, got containers nested deeper than 32 levels")
    value = value.state_dict() if callable(getattr(value, "state_dict", None)) else value
    if hasattr(value, "items"):
        _frame(digest, "mapping", str(len(value)))
        for key, item in sorted(value.items(), key=lambda pair: str(pair[0])):
            _frame(digest, "key", str(key))
            _feed(digest, item, depth + 1)
    elif isinstance(value, (list, tuple)):
        _frame(digest, "list", str(len(value)))
        for item in value:
            _feed(digest, item, depth + 1)
    else:
        _single(digest, value)


def _single(digest: Any, value: Any) -> None:
    """Add one value that holds no others."""
    if value is None or isinstance(value, (bool, int, float, str)):
        _frame(digest, type(value).__name__, value.hex() if isinstance(value, float) else str(value))
    elif isinstance(value, (bytes, bytearray)):
        _elements(digest, "uint8", (len(value),), value)
    elif hasattr(value, "untyped_storage") or hasattr(value, "data_ptr"):
        _tensor(digest, value)
    elif hasattr(value, "__array_interface__"):
        _array(digest, value)
    else:
        raise TypeError(f"expected {EXPECTED}, got {type(value).__name__}")


def _frame(digest: Any, kind: str, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    digest.update(f"{kind}:{len(data)}:".encode("ascii") + data)


def _elements(digest: Any, dtype: str, shape: tuple[int, ...], data: Any) -> None:
    _frame(digest, "elements", f"{dtype}[{','.join(map(str, shape))}]")
    digest.update(data)


def _array(digest: Any, array: Any) -> None:
    """Add a NumPy array, or a NumPy scalar, as little-endian bytes in C order."""
    dtype = array.dtype
    if dtype.hasobject:
        raise TypeError(f"expected {EXPECTED}, got an array of Python objects")
    little = array.astype(dtype.newbyteorder("<"), copy=False)
    _elements(digest, dtype.name, tuple(array.shape), little.tobytes())


def _tensor(digest: Any, tensor: Any) -> None:
    """Add a dense torch tensor, from whatever device, as its bytes in C order."""
    dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    size = dense.numel() * dense.element_size()
    import ctypes

    data = (ctypes.c_char * size).from_address(dense.data_ptr()) if size else b""
    _elements(digest, str(dense.dtype).rpartition(".")[2], tuple(dense.shape), data)
