"""Layers ``libraries``, ``frameworks``, ``determinism``, ``distributions``: what one version does not tell apart.

Two files of one version may be built apart, and a package installed in place is whatever its folder holds. Nobody
promises equal bits there, and ordinarily they are equal, so such a difference lowers what is guaranteed alone.
"""

from __future__ import annotations

from typing import Any

from ..acting import UNUSED, all_hold, imported, in_process, inner, present, using
from ..bystanders import stands_by
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import PROGRAM_QUESTIONS, AnyRule, Condition, Distinction, Fails, Projection
from .libraries import KINDS, LINKED_IN, Kind, not_loaded
from .program import states_code

#: libraries of which a rule judges the build elsewhere, or whose code lies in the file of torch.
_ELSEWHERE = LINKED_IN | {"openblas"}
BUILT = tuple(kind for kind in KINDS if kind.name not in _ELSEWHERE)
#: frameworks of which only the version was compared: name in the document, how it is written, its distribution.
PLACED = (("numpy", "NumPy", "numpy"), ("scipy", "SciPy", "scipy"), ("scikit_learn", "scikit-learn", "scikit-learn"),
          ("jax", "JAX", "jax"), ("tensorflow", "TensorFlow", "tensorflow"))
_WHEEL = ("wheel", "pip")


def build_of(kind: Kind) -> Projection:
    """Project a library that the process loaded to the identity of its file."""
    @kind.limit
    def project(facts: Facts) -> Any:
        if not_loaded(facts, kind.name):
            return UNUSED
        build = facts.read(f"libraries.{kind.name}.build_id")
        return present(build) if in_process(facts) else UNUSED  # a file that lies there need not be the one loaded
    return project


def place_of(name: str) -> Projection:
    """Project a framework to where its build came from: wheel, conda, source, vendor."""
    @using(name)
    def project(facts: Facts) -> Any:
        place = facts.read(f"frameworks.{name}.build")
        return "wheel" if place in _WHEEL else present(place)
    return project


def edited_in_place(facts: Facts) -> str | None:
    """Return the distributions whose code lies in a folder that anybody may have edited, ``None`` without any.

    What the repository of the program holds is told by its commit, and tools beside a computation do not count.
    """
    found: list[str] = []
    lacking: dict[str, str] = {}
    for item in facts.read("distributions.installed") or ():
        if item.get("editable") is False or item.get("shadowed") is True or stands_by(item["name"]):
            continue
        try:
            if _untold(facts, item):
                found.append(item["name"])
        except Missing as missing:
            lacking.update(missing.facts)
    if lacking and not found:
        raise Missing(lacking)
    return ", ".join(sorted(found)) or None


_NOT_SAID = {"unread": "not-recorded"}


def _untold(facts: Facts, item: dict[str, Any]) -> bool:
    editable, revision, origin = (inner(item.get(name, _NOT_SAID), f"distributions.installed.{name}")
                                  for name in ("editable", "revision", "origin"))
    return bool(editable) and revision is None and not _in_repository(facts, origin)


def _in_repository(facts: Facts, origin: str | None) -> bool:
    """Tell whether a folder is one of the program's own repository, by the name of that."""
    if facts.read("source.commit") is None:
        return False
    remote = facts.read("source.remote")
    if remote is None or origin is None:
        return False
    name = remote.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git").lower()
    return bool(name) and name in origin.lower().split("/")


def untold_packages(facts: Facts) -> Fails | None:
    """Fail where packages were installed in place and nothing tells their code."""
    names = edited_in_place(facts)
    if names is None or states_code(facts):
        return None
    return Fails(f"{names} installed in place, with code that no version tells")


def compiler_untold(facts: Facts) -> Fails | None:
    """Fail where Inductor had kernels made by the host's C++ compiler, of which nothing was read."""
    untold = all_hold(facts, (lambda side: side.read("frameworks.backend") == "cpu",
                              lambda side: imported(side, "torch") if in_process(side) else True,
                              lambda side: side.read("determinism.inductor") is not None,
                              lambda side: "compiler" not in (side.read("declared.values") or {})))
    return Fails("kernels were made by a C++ compiler that was not read") if untold else None


_SOURCE = "definition of the stack: one version, another file"

RULES: tuple[AnyRule, ...] = (
    *(Distinction(
        id=f"{kind.name.replace('_', '-')}-build", layer="libraries", cause="build_variant", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE,
        why=f"{kind.title} of build {{expected}} against {{observed}}", effect=kind.effect,
        remedy=f"install {kind.title} from the same package on both sides", confidence="documented",
        source=(_SOURCE,), project=build_of(kind)) for kind in BUILT),
    *(Distinction(
        id=f"{distribution}-build", layer="frameworks", cause="build_variant", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE,
        why=f"{title} built as {{expected}} against {{observed}}", effect="other compilers and flags under one version",
        remedy=f"install {title} from the same place on both sides", confidence="documented", source=(_SOURCE,),
        project=place_of(name)) for name, title, distribution in PLACED),
    Condition(
        id="compiler-untold", layer="determinism", cause="compile_mode", set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
        expected=Level.BITWISE, possible=Level.BITWISE, why="{detail} {side}",
        effect="another compiler, or another release of it, contracts and vectorises otherwise",
        remedy="use the same compiler and state it: --declare compiler='g++ 12.2.0'", confidence="documented",
        source=("torch._inductor.cpp_builder: the compiler named by CXX, else found on the host",),
        holds=compiler_untold),
    Condition(
        id="package-code-untold", layer="distributions", cause="code_differs", questions=PROGRAM_QUESTIONS,
        set_by=SetBy.PROGRAM, guaranteed=Level.NONE, expected=Level.BITWISE, possible=Level.BITWISE,
        why="{detail} {side}", effect="the folder may have been edited between two executions",
        remedy="install the package from a commit, or state the code with --declare code=DIGEST",
        confidence="documented", source=("PEP 660: editable installs",), holds=untold_packages),
)
