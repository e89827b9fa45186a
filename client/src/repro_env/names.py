"""Names of people and machines: they stand in ``capture`` alone, and there as pseudonyms where a site wants that.

Owns how names are taken out of paths and how they are masked. Credentials are left to ``variables``.
"""

from __future__ import annotations

from .fingerprint.facts import is_captured, unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: what can be masked.
USER, HOST = "user", "host"
KINDS = (USER, HOST)
#: folders whose members are named after people.
_HOMES = ("/home/", "/Users/", "\\Users\\")
_ENDS = frozenset("/\\:;,\"' \t\n")
#: names that are no person's.
_NOBODY = frozenset(("", "root", "user", "nobody", "ubuntu", "jovyan", "app", "opt", "usr", "lib", "data", "home"))


def without_names(text: str, home: str = "", user: str = "") -> str:
    """Return ``text`` with ``~`` for every home folder in it, and for folders named after ``user``.

    Paths below a home folder are equal for two users then, as they should be: whose folder it is does not compute.
    """
    if "/" not in text and "\\" not in text:
        return text
    if len(home) > 1:
        text = _replaced(text, home.rstrip("/"), "~")
    for homes in _HOMES:
        head, *parts = text.split(homes)
        for part in parts:
            length = next((index for index, letter in enumerate(part) if letter in _ENDS), len(part))
            inner = head[-1:].isalnum() or not length
            head += (homes + "~" if inner else "~") + part[length:] if length else homes + part
        text = head
    return text if user.lower() in _NOBODY else _replaced(text, f"/{user}", "/~")


def _replaced(text: str, path: str, by: str) -> str:
    """Replace ``path`` where it ends with a whole folder name."""
    head, *parts = text.split(path)
    for part in parts:
        head += (by if not part or part[0] in _ENDS else path) + part
    return head


def clear(sections: dict[str, dict[str, Any]], environ: Mapping[str, str]) -> None:
    """Take names out of the facts of the judged parts that hold paths: variables, origins, addresses of images."""
    home, user = environ.get("HOME", ""), environ.get("USER") or environ.get("LOGNAME") or ""

    def cleared(holder: Any, key: str) -> None:
        value = holder.get(key)
        if isinstance(value, str):
            holder[key] = without_names(value, home, user)

    values: Any = sections["variables"].get("values")
    for name in values if is_captured(values) else ():
        cleared(values, name)
    for item in _listed(sections["distributions"].get("installed")):
        cleared(item, "origin")
    cleared(sections["container"], "image_reference")
    cleared(sections["program.source"], "remote")
    cleared(sections["program.source"], "entry_point")


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else ()


class Mask:
    """Which names become pseudonyms: equal names stay equal, so that looks at one node still belong together.

    With a ``key`` of the site nobody without it can try names out. Without one the pseudonym holds within a run
    and can be guessed by whoever has a list of candidates.
    """

    __slots__ = ("key", "kinds")

    def __init__(self, kinds: tuple[str, ...] = (), key: str = "") -> None:
        self.kinds = kinds
        self.key = key

    def apply(self, job: dict[str, Any], process: dict[str, Any], run: str) -> None:
        """Replace names in place; the list of a job's nodes is withheld."""
        if USER in self.kinds:
            self._replace(process, "user", run)
        if HOST in self.kinds:
            self._replace(process, "node", run)
            self._replace(job, "pod", run)
            if is_captured(job.get("node_list")):
                job["node_list"] = unread("denied")

    def _replace(self, holder: dict[str, Any], name: str, run: str) -> None:
        value = holder.get(name)
        if isinstance(value, str):
            holder[name] = pseudonym(value, self.key, run)


def pseudonym(name: str, key: str, run: str) -> str:
    """Return ``masked-`` and 16 hexadecimal digits of the keyed digest of ``name``."""
    import hmac

    secret = key or f"repro-env run {run}"
    return "masked-" + hmac.new(secret.encode("utf-8", "surrogatepass"), name.encode("utf-8", "surrogatepass"),
                                "sha256").hexdigest()[:16]
