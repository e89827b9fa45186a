"""Documents from texts that people already have.

``import_text`` recognises the format, keeps what the text states, and leaves everything else unread. Each format's
knowledge lies in its own modules; none of them reads the machine.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..canonical import encode
from ..errors import UnknownFormat
from ..fingerprint.facts import SCHEMA_VERSION, unread
from ..fingerprint.validate import part_digests, validate
from ..ids import PROCESS, URL_NAMESPACE, uuid5
from ..jobs import JOB
from ..probes.keys import SECTIONS, blank
from ..version import VERSION
from . import (
    accelerate_env,
    collect_env,
    conda_env,
    conda_info,
    conda_list,
    detectron2,
    docker_inspect,
    ds_report,
    free_text,
    jax_environment,
    known,
    lightning_env,
    mlflow_conda,
    mlflow_model,
    mlflow_python_env,
    nvcc,
    nvidia_smi,
    openmmlab,
    paddle_version,
    pip_freeze,
    pip_list,
    plain,
    tensorflow_issue,
    tf_env_collect,
    transformers_env,
    ultralytics_checks,
    vllm_env,
    wandb_metadata,
)
from .format import Reading, Text
from .merging import Joined, join


class Importer(Protocol):
    """What a module of this package offers for one format."""

    NAME: str
    MADE_BY: str  #: how one makes such a text

    def read(self, text: Text) -> Reading | None:
        """Return what the text states, ``None`` when it is not of this format; never raise."""


#: every format, in the order in which they are told to people.
IMPORTERS: tuple[Importer, ...] = (
    collect_env,
    vllm_env,
    nvidia_smi,
    wandb_metadata,
    transformers_env,
    accelerate_env,
    ds_report,
    lightning_env,
    ultralytics_checks,
    paddle_version,
    detectron2,
    openmmlab,
    jax_environment,
    tf_env_collect,
    tensorflow_issue,
    pip_freeze,
    pip_list,
    conda_list,
    conda_env,
    conda_info,
    mlflow_model,
    mlflow_conda,
    mlflow_python_env,
    docker_inspect,
)
#: formats that can be imported -> how one makes such a text.
FORMATS = {importer.NAME: importer.MADE_BY for importer in (*IMPORTERS, free_text)}
#: formats that a refusal names.
_NAMED = 3
#: a text of this many characters or more is refused.
MAX_CHARACTERS = 1 << 20
#: stands for the time of the look where nobody tells it: the text does not, and the same text must give the same id.
TIME_NOT_TOLD = "1970-01-01T00:00:00Z"


def detect(text: str) -> str:
    """Return the name of the format of ``text``; raise ``UnknownFormat`` saying what it looks like instead."""
    return _read(_text(text, "stdin"), "stdin").format


def import_text(text: str, *, name: str = "stdin", run_id: str | None = None, project: str | None = None,
                group: str | None = None, labels: dict[str, str] | None = None,
                captured_at: str | None = None) -> dict[str, Any]:
    """Return the document that ``text`` states, of vantage ``import``.

    ``name`` stands for the text in errors. The ids follow from the content: the same text with the same arguments
    gives the same document, and without ``run_id`` the same run. ``captured_at`` is RFC 3339 UTC. Raises
    ``UnknownFormat`` when the format is not known or the text is too long, ``InvalidDocument`` for arguments that no
    document may hold.
    """
    pasted = _text(text, name)
    found = _read(pasted, name)
    identity = "\n".join(filter(None, pasted.lines))
    return document_of(found, identity, run_id=run_id, project=project, group=group, labels=labels,
                       captured_at=captured_at)


def document_of(found: Joined, identity: str, *, run_id: str | None = None, project: str | None = None,
                group: str | None = None, labels: dict[str, str] | None = None,
                captured_at: str | None = None) -> dict[str, Any]:
    """Return the document of vantage ``import`` that holds what ``found`` states; the rest is not recorded.

    ``identity`` is the text that ids are made from. Raises ``InvalidDocument`` for what no document may hold.
    """
    sections = {path: {**blank(path, "not-recorded"), **found.sections.get(path, {})} for path in SECTIONS}
    parts = {
        "stack": {path: facts for path, facts in sections.items() if "." not in path},
        "program": {path.partition(".")[2]: facts for path, facts in sections.items() if "." in path},
    }
    capture = _capture(found)
    capture.update(
        run_id=run_id or uuid5(_namespace("imported-run"), identity),
        run_id_source="given" if run_id else "made", project=project, group=group, labels=dict(labels or {}),
        captured_at=captured_at or TIME_NOT_TOLD)
    capture["observation_id"] = uuid5(_namespace("imported-observation"), encode([parts, capture]).decode())
    document = {"schema": SCHEMA_VERSION, **parts, "capture": capture, "digests": part_digests(parts)}
    return validate(document)


def _text(text: str, name: str) -> Text:
    if len(text) >= MAX_CHARACTERS:
        raise UnknownFormat(f"{name}: expected a text of less than {MAX_CHARACTERS} characters, got {len(text)}; "
                            "cut out the environment report and import that")
    return Text(text, tuple(plain.lines(text)))


def _read(text: Text, name: str) -> Joined:
    readings = list(filter(None, (importer.read(text) for importer in IMPORTERS)))
    if not readings:
        readings = list(filter(None, [free_text.read(text)]))
    if not readings:
        raise UnknownFormat(_refusal(text, name))
    return join([*readings, *filter(None, [nvcc.beside(text)])])


def _refusal(text: Text, name: str) -> str:
    ambiguous = free_text.refusal(text)
    if ambiguous:
        return f"{name}: {ambiguous}"
    some = ", ".join(f"{form} ({command})" for form, command in list(FORMATS.items())[:_NAMED])
    formats = f"a report such as {some}" if len(FORMATS) > _NAMED else f"a report: {some}"
    more = "; `repro-env import --help` lists every format"
    what = known.name_of(text.lines)
    if what:
        return f"{name}: this looks like {what}, which cannot be imported yet; expected {formats}{more}"
    first = next((line for line in text.lines if line), None)
    shown = "an empty text" if first is None else f"a text that begins with {first[:60]!a}"
    return f"{name}: expected {formats}, got {shown}; paste the report as the command printed it{more}"


def _capture(found: Joined) -> dict[str, Any]:
    """Return the circumstances: a text tells nothing of job and process."""
    silent = unread("not-recorded")
    sources = {**dict.fromkeys(SECTIONS, found.format), **found.sources}
    return {
        "sequence": 0, "vantage": "import", "moment": None, "subject": "document", "client_version": VERSION,
        "job": dict.fromkeys(JOB, silent),
        "process": dict.fromkeys(PROCESS, silent),
        "sources": {path: f"imported:{form}" for path, form in sources.items()}, "errors": [], "durations_us": {},
        "drift": [], "results": {}, "imported": {"format": found.format, "notes": list(dict.fromkeys(found.notes))},
        "segment": silent, "random_states": None, "container_id": silent, "image_evidence": silent,
        "device_states": silent, "device_links": silent, **found.capture,
    }


def _namespace(kind: str) -> bytes:
    return bytes.fromhex(uuid5(URL_NAMESPACE, f"urn:repro-env:{kind}").replace("-", ""))
