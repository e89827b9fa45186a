"""Stand-ins for vendors' libraries, compiled from C with the real names and interfaces, and a process that loads them.

The process is a Python of its own that opens files with the real loader and then prints what the readers say.
"""

from __future__ import annotations

import _ctypes
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compiled import integer_function, shared_library

#: C of one library by the start of its name; what a real one answers through the same function.
SOURCES = {
    "libcudart": integer_function("cudaRuntimeGetVersion", 12040),
    "libnccl": integer_function("ncclGetVersion", 22005),
    "librccl": integer_function("ncclGetVersion", 22005),
    "libamdhip64": integer_function("hipRuntimeGetVersion", 60140091),
    "libcublas": "int cublasGetProperty(int kind, int *out) { int v[] = {12, 1, 3}; *out = v[kind]; return 0; }\n",
    "libcublasLt": "int lt(void) { return 0; }\n",
    "libcufft": "int cufftGetProperty(int kind, int *out) { int v[] = {11, 0, 2}; *out = v[kind]; return 0; }\n",
    "libcusolver": "int cusolverGetProperty(int kind, int *out) { int v[] = {11, 4, 5}; *out = v[kind]; return 0; }\n",
    "libcusparse": "int cusparseGetProperty(int kind, int *out) { int v[] = {12, 1, 0}; *out = v[kind]; return 0; }\n",
    "libnvrtc": "int nvrtcVersion(int *a, int *b) { *a = 12; *b = 1; return 0; }\n",
    "libnvJitLink": "int nvJitLinkVersion(unsigned *a, unsigned *b) { *a = 12; *b = 4; return 0; }\n",
    "libcudnn_graph": "#include <stddef.h>\nsize_t cudnnGetVersion(void) { return 90100; }\n",
    "libMIOpen": "#include <stddef.h>\nint miopenGetVersion(size_t *a, size_t *b, size_t *c)"
                 " { *a = 3; *b = 1; *c = 0; return 0; }\n",
    "librocblas": "#include <string.h>\nint rocblas_get_version_string(char *text, size_t size)"
                  ' { strncpy(text, "4.1.0.2ad8e3a-dirty", size); return 0; }\n',
    "libhipblaslt": "int hipblasLtGetVersion(void *handle, int *out) { return handle ? 0 : 1; }\n",
    "libdnnl": "typedef struct { int a, b, c; const char *hash; unsigned cpu, gpu; } version_t;\n"
               'const version_t *dnnl_version(void) { static version_t v = {3, 5, 3, "abc", 2, 0}; return &v; }\n',
    "libmkl_core": "#include <string.h>\nvoid mkl_serv_get_version_string(char *text, int size) { strncpy(text, "
                   '"Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64", '
                   "size); }\n",
    "libcuda": "int cuInit(unsigned flags) { __builtin_trap(); }\n",
}
#: the front of cuDNN 9: whoever asks it makes it load its parts, as the real one does.
FRONT = """#include <dlfcn.h>
#include <stddef.h>
size_t cudnnGetVersion(void) { dlopen("%s", RTLD_NOW); return 90100; }
"""
#: what the readers of libraries say in a process that has loaded ``sys.argv[1:]``.
LOOK = """
import ctypes, json, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path)
from repro_env.probes import inprocess, inprocess_libraries, inprocess_mapped
from repro_env.system import System
seen, readings, system = inprocess.Seen(), inprocess.Readings(), System()
seen.settled = True
before = system.mapped_files()
inprocess_libraries.read(system, seen, readings)
inprocess_mapped.read(system, seen, readings)
new = [path for path in System().mapped_files() if path not in before and '/lib-dynload/' not in path]
print(json.dumps({"facts": readings.facts, "errors": readings.errors, "new": new}))
"""
CLIENT = Path(__file__).parents[3] / "client" / "src"


def stand_in(path: Path) -> Path:
    """Compile the stand-in that a file's name calls for."""
    return shared_library(path, SOURCES[path.name.partition(".")[0]])


def look(*paths: Path, python: str | Path = sys.executable, program: str = LOOK, **variables: str) -> dict[str, Any]:
    """Return the facts read in a process that loads ``paths``; looking must fail nowhere and load nothing."""
    environ = {**os.environ, "PYTHONPATH": str(CLIENT), **variables}
    done = subprocess.run([python, "-c", program, *map(str, paths)], env=environ, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert not answer["errors"], answer["errors"]
    assert not any(".so" in path for path in answer["new"]), answer["new"]
    return answer["facts"]  # type: ignore[no-any-return]


@contextmanager
def opened(path: Path) -> Iterator[None]:
    """Have a library loaded in this process, and not any longer: other tests look into the same one."""
    library = ctypes.CDLL(str(path))
    try:
        yield
    finally:
        _ctypes.dlclose(library._handle)
