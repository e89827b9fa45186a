"""The boundaries of ``docs/architecture.md``, read off the source: who imports what, who touches the world.

A rule here is a function from a module to its breaches. Each is run on every module of the two packages, and once on
a few lines that break it, so that a rule which finds nothing any more does not pass unnoticed.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {"repro_env": ROOT / "client" / "src" / "repro_env",
           "repro_env_service": ROOT / "service" / "src" / "repro_env_service"}

MODULE_LINES = 400
FUNCTION_LINES = 60

#: exceptions. Rule → module, folder (trailing dot), or one name in a module (after a colon) → the reason.
ALLOWED: dict[str, dict[str, str]] = {
    "standard_library": {
        "repro_env.bootstrap.sitecustomize: sitecustomize": "hands on to the user's own",
        "repro_env.canonical: _sha2": "the interpreter's own hash since 3.12; older versions do not list it",
        "repro_env.canonical: _sha256": "the interpreter's own hash up to 3.11; newer versions do not list it",
    },
    "host_libraries": {
        "repro_env.determinism": "sets the switches of a framework that the caller uses",
        "repro_env.numerics": "measures a framework that the caller uses",
        "repro_env.divergence": "hooks into a framework that the caller uses",
        "repro_env.integrations.": "hooks into a library that the caller uses",
        "repro_env.selftest.workloads": "programs of their own, started by the self-test",
    },
    "machine": {
        "repro_env.system": "the boundary to the machine",
        "repro_env.outside": "its part for programs and native calls, bounded in time",
        "repro_env.spool": "reads back the files it wrote",
        "repro_env.cli.: os": "its own variables, terminal and processes; what a document holds comes from elsewhere",
        "repro_env.cli.: open": "files that a user names",
        "repro_env.settings: os": "its own variables and file",
        "repro_env.settings: open": "its own file",
        "repro_env.delivery: os.environ": "variables that say where the spool is",
        "repro_env.transport: os.environ": "the proxy variables",
        "repro_env.launch": "takes the place of the program that a user starts with `repro-env run`",
        "repro_env.bootstrap.": "runs inside the host before anything of ours is imported",
        "repro_env.injection": "hands one variable from process to process without the host seeing it",
        "repro_env.injected: os.register_at_fork": "a hook, which reads nothing",
        "repro_env.block: os.register_at_fork": "a hook, which reads nothing",
        "repro_env.block: os.getpid": "tells a forked child from the program",
        "repro_env.by_name: os.path.exists": "whose module it is that a program imports by our name",
        "repro_env.keeping: os.environ": "variables that say where the spool is",
        "repro_env.probes.nvml: ctypes": "structures for a library that System.load_library opened",
        "repro_env.probes.library_questions: ctypes": "asks libraries that the process has loaded",
        "repro_env.probes.inprocess_pools: ctypes": "asks libraries that the process has loaded",
        "repro_env.probes.inprocess_random: ctypes": "reads the bytes of a state that torch copied for it",
        "repro_env.process: os.getpid": "tells a forked child from the program",
        "repro_env.process: os.environ": "the rank, which says who speaks for a job",
        "repro_env.results: ctypes": "reads the bytes of a tensor that the caller handed over",
        "repro_env.selftest.": "starts programs of its own in environments that it makes",
    },
    "network": {
        "repro_env.transport": "the one owner of the network",
    },
    "files": {
        "repro_env.spool": "the one owner of files written unasked",
        "repro_env.cli.": "the file that a user names with -o",
        "repro_env.bootstrap.": "leaves the environment as the program would have found it",
        "repro_env.injection": "sets the environment of children",
        "repro_env.outside": "pipes to programs and children of ours, no files",
        "repro_env.selftest.": "programs of its own in a temporary folder, and what --keep names",
    },
    "voice": {
        "repro_env.cli.": "the one owner of stdout and of exit codes",
        "repro_env.__main__": "python -m repro_env is the command line",
        "repro_env.launch": "hands the terminal over to the user's program, or says why it cannot start",
        "repro_env.bootstrap.": "says once on stderr that a program is not observed",
        "repro_env.process": "says once on stderr, inside the host, what was lost",
        "repro_env.outside: os._exit": "ends a forked child of ours",
        "repro_env.selftest.workloads": "a program of its own: its digest goes to whoever started it",
    },
    "service_imports": {
        "repro_env_service.demo_workload": "plays a user's program",
    },
}

#: names of ``os`` that look at text alone (``abspath`` and ``relpath`` where paths are absolute), or at nothing at all.
PURE_OS = {"path.join", "path.basename", "path.dirname", "path.split", "path.splitext", "path.normpath", "path.isabs",
           "path.abspath", "path.relpath", "path.commonprefix", "path.commonpath", "path.sep", "sep", "pathsep",
           "curdir", "pardir", "defpath", "devnull", "linesep", "fspath", "fsencode", "fsdecode", "PathLike", "name",
           "urandom"}
WRITING_OS = {"replace", "rename", "renames", "link", "symlink", "unlink", "remove", "removedirs", "mkdir", "makedirs",
              "rmdir", "write", "pwrite", "writev", "fsync", "fdatasync", "truncate", "ftruncate", "chmod", "chown",
              "utime", "mkfifo", "mknod", "putenv", "unsetenv", "umask", "chdir"}
MACHINE_MODULES = {"subprocess", "platform", "ctypes", "multiprocessing", "resource", "pwd", "grp", "pathlib", "glob",
                   "locale", "getpass", "sysconfig", "importlib.metadata", "_posixsubprocess", "_locale"}
NETWORK_MODULES = {"socket", "http", "ssl", "urllib.request", "urllib.error", "asyncio", "socketserver", "xmlrpc",
                   "ftplib", "smtplib", "_socket"}
WRITING_MODULES = {"tempfile", "shutil", "sqlite3", "dbm", "shelve"}
#: modules of the standard library that some supported Python has and another lacks.
STANDARD_SOMEWHERE = {"_sha1", "_sha2", "_sha256", "tomllib"}
HOST_LIBRARIES = {"torch", "numpy", "scipy", "jax", "tensorflow", "sklearn"}
JUDGING_MAY_IMPORT = ("repro_env.comparability", "repro_env.fingerprint", "repro_env.canonical", "repro_env.errors")
SERVICE_MAY_IMPORT = ("repro_env.fingerprint", "repro_env.canonical", "repro_env.comparability", "repro_env.errors",
                      "repro_env.version")


@dataclass(frozen=True)
class Import:
    """One imported name, absolute; ``lazy`` inside a function."""

    name: str
    line: int
    lazy: bool

    def within(self, modules: Collection[str]) -> bool:
        return any(self.name == module or self.name.startswith(f"{module}.") for module in modules)

    @property
    def top(self) -> str:
        return self.name.split(".")[0]


@dataclass(frozen=True)
class Module:
    """One source file: its imports, and the dotted names it uses with aliases resolved."""

    name: str
    text: str
    is_package: bool = False

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @functools.cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(_imports(self.tree, self.name.split(".") if self.is_package else self.name.split(".")[:-1]))

    @functools.cached_property
    def uses(self) -> tuple[tuple[str, ast.expr], ...]:
        """Every outermost dotted name, ``import os.path as p; p.join`` as ``os.path.join``."""
        aliases: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    top = name.name.split(".")[0]
                    aliases[name.asname or top] = name.name if name.asname else top
            elif isinstance(node, ast.ImportFrom) and not node.level:
                aliases |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
        return tuple(_uses(self.tree, aliases))

    @functools.cached_property
    def calls(self) -> tuple[tuple[str, ast.Call], ...]:
        functions = {id(node): name for name, node in self.uses}
        return tuple((functions[id(node.func)], node) for node in ast.walk(self.tree)
                     if isinstance(node, ast.Call) and id(node.func) in functions)


def _imports(node: ast.AST, package: list[str], lazy: bool = False) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(name.name, child.lineno, lazy) for name in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = package[:len(package) - child.level + 1] if child.level else []
            start = ".".join([*base, *([child.module] if child.module else [])])
            yield from (Import(f"{start}.{name.name}", child.lineno, lazy) for name in child.names)
        else:
            inside = lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from _imports(child, package, inside)


def _uses(node: ast.AST, aliases: dict[str, str]) -> Iterator[tuple[str, ast.expr]]:
    parts: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name) and isinstance(node, ast.expr):
        yield ".".join([aliases.get(inner.id, inner.id), *reversed(parts)]), node
        return
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, aliases)


def _modules() -> tuple[Module, ...]:
    found = []
    for package, folder in SOURCES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            is_package = parts[-1] == "__init__"
            found.append(Module(".".join(parts[:-1] if is_package else parts), path.read_text(), is_package))
    return tuple(found)


MODULES = _modules()
CLIENT = tuple(module for module in MODULES if module.name.split(".")[0] == "repro_env")
SERVICE = tuple(module for module in MODULES if module.name.split(".")[0] == "repro_env_service")
JUDGING = tuple(module for module in CLIENT if f"{module.name}.".startswith("repro_env.comparability."))


@dataclass(frozen=True)
class Breach:
    """One place that breaks a rule: line, the name that breaks it, what to do instead."""

    line: int
    name: str
    remedy: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.name}; {self.remedy}"


Breaches = Iterator[Breach]
Rule = Callable[[Module], Breaches]


def excused(rule: str, module: Module, breach: Breach | None = None) -> bool:
    """Tell whether ``ALLOWED`` lets a module break a rule altogether, or in this one place."""
    for entry in ALLOWED.get(rule, {}):
        place, _, name = entry.partition(": ")
        here = f"{module.name}.".startswith(place) if place.endswith(".") else module.name == place
        if here and (not name or (breach is not None and f"{breach.name}.".startswith(f"{name}."))):
            return True
    return False


def standard_library(module: Module) -> Breaches:
    """The client brings no dependency: one would change the environment that it measures."""
    for item in module.imports:
        known = item.top in sys.stdlib_module_names | STANDARD_SOMEWHERE or item.top.startswith("repro_env")
        if not known and not (item.top in HOST_LIBRARIES and item.lazy):
            yield Breach(item.line, item.name, "the client has the standard library only")


def host_libraries(module: Module) -> Breaches:
    """A library of the host is imported by few modules, inside functions; elsewhere it is found in sys.modules."""
    for item in module.imports:
        if item.top in HOST_LIBRARIES:
            yield Breach(item.line, item.name, "look it up in System.loaded_modules()")


def no_service(module: Module) -> Breaches:
    """The client works without a server, so it never imports the service."""
    for item in module.imports:
        if item.top == "repro_env_service":
            yield Breach(item.line, item.name, "what both need belongs into the client")


def judging_is_pure(module: Module) -> Breaches:
    """Judging is a function of two documents: it sees the definition of a document and nothing of the world."""
    for item in module.imports:
        if item.top.startswith("repro_env") and not item.within(JUDGING_MAY_IMPORT):
            yield Breach(item.line, item.name, f"allowed: {', '.join(JUDGING_MAY_IMPORT)}")
        if item.top in {"os", "time", "datetime", "random", "io"} or item.within(MACHINE_MODULES | NETWORK_MODULES):
            yield Breach(item.line, item.name, "a verdict depends on the two documents alone")


def machine(module: Module) -> Breaches:
    """``system.py`` alone reads the machine, so a recorded host can stand in for it."""
    for item in module.imports:
        if item.within(MACHINE_MODULES):
            yield Breach(item.line, item.name, "ask system.System instead")
    for name, node in module.uses:
        if name.startswith("os.") and name[3:] not in PURE_OS | WRITING_OS:
            yield Breach(node.lineno, name, "ask system.System instead")
    for name, call in module.calls:
        if name in {"open", "io.open"} and not _writes(call):
            yield Breach(call.lineno, name, "ask system.System instead")


def network(module: Module) -> Breaches:
    """``transport.py`` alone uses the network, so time limits and credentials are handled once."""
    for item in module.imports:
        if item.within(NETWORK_MODULES):
            yield Breach(item.line, item.name, "send through repro_env.transport")


def files(module: Module) -> Breaches:
    """``spool.py`` alone writes files unasked, so nothing is lost and nothing is left behind."""
    for item in module.imports:
        if item.within(WRITING_MODULES):
            yield Breach(item.line, item.name, "files are written by repro_env.spool")
    for name, node in module.uses:
        if name.startswith("os.") and name[3:] in WRITING_OS:
            yield Breach(node.lineno, name, "files are written by repro_env.spool")
    for name, call in module.calls:
        if (name in {"open", "io.open"} and _writes(call)) or name.endswith((".write_text", ".write_bytes")):
            yield Breach(call.lineno, name, "files are written by repro_env.spool")


def voice(module: Module) -> Breaches:
    """Only ``cli`` prints and exits: everything else runs inside other people's programs."""
    for name, node in module.uses:
        if name in {"print", "exit", "quit", "sys.exit", "SystemExit", "os._exit"} or name.startswith(
                ("sys.stdout", "sys.stderr", "sys.__std")):
            yield Breach(node.lineno, name, "return a value and let repro_env.cli say it")


def service_imports(module: Module) -> Breaches:
    """The service uses the definition of a document and the judging, and nothing that observes."""
    for item in module.imports:
        if item.top == "repro_env" and not item.within(SERVICE_MAY_IMPORT):
            yield Breach(item.line, item.name, f"allowed: {', '.join(SERVICE_MAY_IMPORT)}")


def short_modules(module: Module) -> Breaches:
    """A module is read in one sitting."""
    count = len(module.text.splitlines())
    if count > MODULE_LINES:
        yield Breach(count, f"{count} lines", f"at most {MODULE_LINES}: split it by what its parts own")


def short_functions(module: Module) -> Breaches:
    """A function is seen on one screen."""
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > FUNCTION_LINES:
                yield Breach(node.lineno, f"{node.name} has {count} lines", f"at most {FUNCTION_LINES}: name its steps")


def _writes(call: ast.Call) -> bool:
    """Tell whether ``open`` is called with a mode that writes; a mode that is not written out counts as one."""
    second = call.args[1] if len(call.args) > 1 else None
    mode = next((word.value for word in call.keywords if word.arg == "mode"), second)
    if mode is None:
        return False
    return not isinstance(mode, ast.Constant) or bool(set("wax+") & set(str(mode.value)))


#: rule, the modules it is for, and lines that break it.
RULES: tuple[tuple[Rule, tuple[Module, ...], tuple[str, ...]], ...] = (
    (standard_library, CLIENT, ("import requests", "import torch", "try:\n    import yaml\nexcept ImportError: pass")),
    (host_libraries, CLIENT, ("def f():\n    import torch", "import numpy.linalg")),
    (no_service, CLIENT, ("import repro_env_service", "def f():\n    from repro_env_service import app")),
    (judging_is_pure, JUDGING, ("from repro_env import system", "from ..spool import x", "import os", "import time")),
    (machine, CLIENT, ("import subprocess", "from os import environ\nenviron['A']", "import os as o\no.getcwd()",
                       "open('/proc/cpuinfo')", "import importlib.metadata", "from importlib import metadata",
                       "import os\nos.path.exists('a')")),
    (network, CLIENT, ("import socket", "def f():\n    import http.client", "from urllib import request")),
    (files, CLIENT, ("open('a', 'w')", "open('a', mode='ab')", "import os\nos.replace('a', 'b')", "import shutil",
                     "p.write_text('a')")),
    (voice, CLIENT, ("print('a')", "import sys\nsys.exit(1)", "raise SystemExit", "import sys\nsys.stderr.write('a')",
                     "from sys import stdout\nstdout.write('a')")),
    (service_imports, SERVICE, ("from repro_env.capture import capture", "import repro_env.system")),
    (short_modules, MODULES, ("a = 1\n" * (MODULE_LINES + 1),)),
    (short_functions, MODULES, ("def f():\n" + "    a = 1\n" * FUNCTION_LINES,)),
)


@pytest.mark.parametrize(("rule", "module"), [
    pytest.param(rule, module, id=f"{rule.__name__}-{module.name}")
    for rule, modules, _ in RULES for module in modules if not excused(rule.__name__, module)])
def test_module_keeps_the_rule(rule: Rule, module: Module) -> None:
    breaches = [breach for breach in rule(module) if not excused(rule.__name__, module, breach)]
    assert not breaches, "\n".join([rule.__doc__ or "", *(f"  {module.name}: {breach}" for breach in breaches)])


@pytest.mark.parametrize(("rule", "source"), [
    pytest.param(rule, source, id=f"{rule.__name__}-{source.splitlines()[0]}")
    for rule, _, sources in RULES for source in sources])
def test_rule_finds_a_breach(rule: Rule, source: str) -> None:
    assert list(rule(Module("repro_env.comparability.sample", source)))


@pytest.mark.parametrize("source", [
    "import json", "from __future__ import annotations", "import os\nos.path.join('a', os.sep)", "from . import levels",
    "from ..fingerprint.facts import is_unread", "import sys\nsys.modules.get('torch')", "x.open()"])
def test_rules_of_the_client_let_ordinary_code_pass(source: str) -> None:
    module = Module("repro_env.comparability.sample", source)
    rules = [rule for rule, modules, _ in RULES if modules is CLIENT]
    assert not [breach for rule in rules for breach in rule(module)]


@pytest.mark.parametrize(("rule", "entry"), [(rule, entry) for rule, entries in ALLOWED.items() for entry in entries])
def test_exception_names_a_rule(rule: str, entry: str) -> None:
    assert rule in {known.__name__ for known, _, _ in RULES}
    assert entry.startswith("repro_env")
