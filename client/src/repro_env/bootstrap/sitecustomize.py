"""Started by the interpreter of an observed program, before any code of the program.

Takes itself off the path and out of the environment, starts watching, then hands over to the program's own
``sitecustomize`` as if this one had never been found. Whatever fails here costs the observation, never the program.
The syntax stays old: an interpreter that is too old for repro-env still has to run its program.
"""

import os
import sys

_NAME = "_repro_env_observer"
_HERE = os.path.dirname(os.path.abspath(__file__))


def _restore_path() -> None:
    """Take this folder off ``sys.path`` and out of ``PYTHONPATH``, as the program's own environment has it."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _HERE]
    sys.path_importer_cache.pop(_HERE, None)
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if _HERE in entries:
        entries.remove(_HERE)
        if entries:
            os.environ["PYTHONPATH"] = os.pathsep.join(entries)
        else:
            del os.environ["PYTHONPATH"]


def _start_watching(packed: str) -> None:
    """Import repro_env from where this file lies, under a name that no program has, and start watching."""
    if sys.version_info < (3, 9):  # noqa: UP036 - PYTHONPATH reaches every interpreter
        raise RuntimeError("expected Python 3.9 or newer, got " + sys.version.split()[0])
    from importlib import import_module
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    package = os.path.dirname(_HERE)
    file = os.path.join(package, "__init__.py")
    spec = spec_from_file_location(_NAME, file, loader=SourceFileLoader(_NAME, file),
                                   submodule_search_locations=[package])
    if spec is None or spec.loader is None:
        raise ImportError("expected the package repro_env around " + _HERE)
    module = module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    by_name, injected = (import_module(_NAME + name) for name in (".by_name", ".injected"))
    sys.meta_path.insert(0, by_name.Finder(_NAME))
    injected.begin(packed, _HERE)


_restore_path()
_packed = os.environ.pop("REPRO_ENV_INJECT", None)
if _packed is not None:
    try:
        _start_watching(_packed)
    except Exception as error:  # noqa: BLE001 - the guard of the host contract: the program runs whatever fails here
        if sys.stderr is not None:
            sys.stderr.write("repro-env: this program is not observed: {}\n".format(error))  # noqa: UP032 - as above

# The next sitecustomize on the path takes our place; where there is none, the ImportError that this raises is the
# one the interpreter expects.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402,F401 - the next one, at the end
