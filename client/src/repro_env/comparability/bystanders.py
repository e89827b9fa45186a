"""Distributions that stand beside a computation: tools, transport, formats, tests, notebooks, trackers of experiments.

Neither numbers nor samples, tokens or seeds pass through them. What is not listed here, and has no rule of its own, may
compute: it counts in a repetition.
"""

from __future__ import annotations

from functools import lru_cache

#: beginnings of names that whole families of tools share.
_FAMILIES = ("types-", "pytest-", "sphinx", "jupyter", "google-", "googleapis-", "azure-", "aws-", "boto",
             "opentelemetry-", "flake8", "mypy", "pylint", "mkdocs", "backports-", "prompt-toolkit", "zope-",
             "jaraco-", "grpcio", "msgpack", "markdown", "mdit-", "docker", "kubernetes", "prometheus-", "sentry-",
             "python-lsp-", "pyobjc", "poetry", "hatch", "setuptools", "conda", "trove-", "dbus", "ansible",
             "cryptography", "requests", "urllib3", "win32", "pywin32", "colorama", "repro-env")
_WORDS = """
absl-py accessible-pygments aim aiobotocore aiodns aiofiles aiohappyeyeballs aiohttp aiosignal aiosqlite alabaster
alembic altair annotated-doc annotated-types antlr4-python3-runtime anyio appdirs appnope argcomplete argon2-cffi
argon2-cffi-bindings arrow asgiref asn1crypto astor astroid asttokens astunparse async-lru async-timeout attrs
autopep8 babel bandit beautifulsoup4 bidict black bleach blinker bokeh boltons brotli brotlipy build cachecontrol
cachetools cattrs certifi cffi cfgv chardet charset-normalizer clearml cleo click click-plugins cligj clikit
cloudpickle cmake codecov colorcet colorlog comet-ml comm commonmark configargparse configobj contextlib2 contourpy
coverage crashtest croniter cuda-bindings cuda-pathfinder cuda-python cuda-toolkit cycler cython dataclasses
dataclasses-json deepdiff defusedxml deprecated deprecation dill distlib distro dnspython docopt docstring-parser
docutils dvc editables email-validator entrypoints et-xmlfile exceptiongroup execnet executing fabric fastapi
fastjsonschema ffmpy filelock fire flask flatbuffers fonttools fqdn frozendict frozenlist fsspec ftfy funcsigs future
gast gcsfs gdown gitdb gitpython gradio gradio-client graphviz greenlet gunicorn h11 h2 h5py hf-transfer hf-xet hjson
hpack html5lib httpcore httplib2 httptools httpx httpx-sse huggingface-hub humanfriendly humanize hydra-core
hyperframe identify idna imagesize importlib-metadata importlib-resources iniconfig installer invoke ipykernel ipympl
ipython ipython-genutils ipywidgets isodate isoduration isort itsdangerous jedi jeepney jinja2 jiter jmespath joblib
json5 jsonlines jsonpatch jsonpickle jsonpointer jsonref jsonschema jsonschema-path jsonschema-specifications keyring
kiwisolver lazy-loader lazy-object-proxy libarchive-c libclang libmambapy lightning-utilities loguru lsprotocol lxml
lz4 mako markupsafe marshmallow matplotlib matplotlib-inline mccabe mdurl memory-profiler menuinst mistune mlflow
mlflow-skinny mock more-itertools mpmath multidict multiprocess mypy-extensions narwhals nbclient nbconvert nbformat
nbstripout neptune nest-asyncio ninja nodeenv notebook notebook-shim nox ntlm-auth numcodecs nvidia-ml-py oauthlib
objprint omegaconf openpyxl ordered-set orjson outcome overrides packaging pandocfilters paramiko parso parsy partd
pastel pathos pathspec pathtools pathy pendulum pep517 pep8 pexpect pickleshare pip pip-tools pipdeptree pipenv pipx
pkginfo pkgutil-resolve-name platformdirs plotly pluggy ply portalocker pox ppft pre-commit prettytable progress
prometheus promise propcache proto-plus protobuf psutil psycopg2 psycopg2-binary ptyprocess pudb pure-eval py
py-cpuinfo py-spy pyarrow pyasn1 pyasn1-modules pybind11 pycodestyle pycosat pycparser pycryptodome pycryptodomex
pydantic pydantic-core pydantic-settings pydocstyle pydot pyflakes pygments pyjwt pymongo pymysql pynacl pynvml
pyopenssl pyparsing pyperclip pyproject-api pyproject-hooks pyreadline3 pyrsistent pysocks pytest python-dateutil
python-dotenv python-engineio python-json-logger python-multipart python-slugify python-socketio pytz pyyaml pyzmq
qtconsole qtpy ray redis referencing regex responses rfc3339-validator rfc3986 rfc3986-validator rich rich-argparse
rich-toolkit rope rpds-py rsa ruamel-yaml ruamel-yaml-clib ruff s3fs s3transfer safetensors seaborn secretstorage
semver send2trash sh shellingham shtab simplejson six smart-open smmap sniffio snowballstemmer sortedcontainers
soupsieve sqlalchemy sqlparse sshtunnel stack-data starlette streamlit submitit swagger-ui-bundle sympy tables
tabulate tblib tenacity tensorboard tensorboard-data-server tensorboardx termcolor terminado terminaltables texttable
thop threadpoolctl tinycss2 toml tomli tomli-w tomlkit toolz tornado tox tqdm traitlets trio typeguard typer typing
typing-extensions typing-inspect typing-inspection tzdata tzlocal ujson unidecode uri-template userpath uv uvicorn
uvloop validators versioneer virtualenv visdom wandb watchdog watchfiles wcwidth webcolors webencodings
websocket-client websockets werkzeug wheel widgetsnbextension wrapt wsproto xlrd xlsxwriter xxhash xyzservices yacs
yamllint yapf yarl zarr zict zipfile36 zipp zstandard
"""
_NAMES = frozenset(_WORDS.split())


@lru_cache(maxsize=4096)
def stands_by(name: str) -> bool:
    """Tell whether the distribution ``name`` is known to compute nothing."""
    return name in _NAMES or name.startswith(_FAMILIES)
