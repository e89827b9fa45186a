"""What ``docker inspect`` and ``podman inspect`` print of an image or a container.

An image has two digests: the one of its manifest, by which registries know it, and the one of its configuration,
which engines call its id. Only the first is ``image_digest``. Of the environment only allow-listed variables are
taken; what a vendor's image says of versions and wants of a driver is no fact of a process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import variables
from ..probes.evidence import LABELS, VENDOR_NAMES, is_digest, is_hex, plain_reference
from . import open_json
from .format import Reading, Text

NAME = "docker-inspect"
MADE_BY = "docker inspect, podman inspect"

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64", "386": "i686", "ppc64le": "ppc64le", "s390x": "s390x",
             "riscv64": "riscv64"}
_LONGEST = 512
_MOST_OBJECTS = 100
_MOST_TEXTS = 2000

Inspected = dict[str, Any]
Piece = dict[str, str]


def read(text: Text) -> Reading | None:
    """Return what the first container states, and its image where that is inspected too; else the first image."""
    if '"Id"' not in text.joined:
        return None
    opened = open_json.find(text.lines, lambda value: any(True for _ in _objects(value)))
    if opened is None:
        return None
    objects = list(_objects(opened.value))
    container = next(filter(_is_container, objects), None)
    images = [item for item in objects if not _is_container(item)]
    image = _image_of(container, images)
    notes = []
    others = len(objects) - (container is not None) - (image is not None)
    if others:
        notes.append(f"{others} more containers or images are inspected: not imported")
    if container is None:
        notes.append("variables are those the image sets; whoever starts it may set others")
    sections = {"container": _identity(container, image), **_machine(container, image)}
    environ = _environ(container or image or {})
    values, withheld = variables.read(environ)
    sections["variables"] = {"values": {name: values[name] for name in sorted(environ) if name in values}}
    if withheld:
        notes.append(f"withheld, as their values look like credentials: {', '.join(withheld)}")
    evidence = list(_evidence(container, image, environ))
    capture = {"image_evidence": [piece for at, piece in enumerate(evidence) if piece not in evidence[:at]]}
    if container is not None and is_hex(str(container.get("Id"))):
        capture["container_id"] = container["Id"]
    return Reading(NAME, sections, tuple(notes), opened.first_line, opened.cut, opened.length, capture)


def _objects(value: Any) -> Iterator[Inspected]:
    """Yield the containers and images of a value, which is one or a list of them."""
    for item in (value if isinstance(value, list) else [value])[:_MOST_OBJECTS]:
        if not isinstance(item, dict) or not isinstance(item.get("Id"), str):
            continue
        if _is_id(item["Id"]) and ("RepoDigests" in item or "RepoTags" in item or _is_container(item)):
            yield item


def _is_container(item: Inspected) -> bool:
    return isinstance(item.get("Image"), str) and ("State" in item or "HostConfig" in item or "Created" in item)


def _image_of(container: Inspected | None, images: list[Inspected]) -> Inspected | None:
    if container is None:
        return images[0] if images else None
    started = str(container["Image"]).rpartition(":")[2]
    return next((image for image in images if str(image["Id"]).rpartition(":")[2] == started), None)


def _identity(container: Inspected | None, image: Inspected | None) -> dict[str, Any]:
    """Return the section ``container``: what was started, and the manifest digest where one alone is named."""
    facts: dict[str, Any] = {}
    if container is not None:
        engine = _engine(container)
        if engine:
            facts["engine"] = engine
    references = list(_references(container, image))
    if references:
        facts["image_reference"] = references[0]
    digests = set(_digests(container, image))
    if len(digests) == 1:
        facts.update(image_digest=digests.pop(), learned="engine")
    return facts


def _engine(container: Inspected) -> str | None:
    """Return the engine by what only its own answer holds."""
    if "OCIRuntime" in container or "ConmonPidFile" in container or "ImageDigest" in container:
        return "podman"
    return "docker" if "/docker/" in str(container.get("ResolvConfPath")) or "GraphDriver" in container else None


def _references(container: Inspected | None, image: Inspected | None) -> Iterator[str]:
    """Yield the names by which the image was started or is known."""
    told: list[Any] = []
    if container is not None:
        told += [_config(container).get("Image"), container.get("ImageName")]
    if image is not None:
        told += _texts(image.get("RepoTags"))
    for text in told:
        if isinstance(text, str) and 0 < len(text) <= _LONGEST and "<none>" not in text and not _is_id(text):
            shown = plain_reference(text)
            if shown:
                yield shown


def _is_id(text: str) -> bool:
    return is_digest(text) or is_hex(text)


def _digests(container: Inspected | None, image: Inspected | None) -> Iterator[str]:
    """Yield every manifest digest that is named; the id of an image is the digest of its configuration."""
    told: list[Any] = []
    if image is not None:
        told += [text.rpartition("@")[2] for text in _texts(image.get("RepoDigests"))]
        told += [image.get("Digest")] if not told else []
    if container is not None:
        told += [container.get("ImageDigest"), str(_config(container).get("Image")).rpartition("@")[2]]
    yield from (text for text in told if isinstance(text, str) and is_digest(text))


def _evidence(container: Inspected | None, image: Inspected | None, environ: dict[str, str]) -> Iterator[Piece]:
    """Yield everything that tells which image it is, with its place in the answer and how far it can be trusted."""
    trust = "observed" if container is not None else "claimed"
    for reference in _references(container, image):
        yield _piece("image_reference", reference, "inspect", trust)
    for digest in _digests(container, image):
        yield _piece("image_digest", digest, "inspect RepoDigests", trust)
    identity = str(container["Image"] if container is not None else (image or {}).get("Id", ""))
    configuration = identity if ":" in identity else f"sha256:{identity}"
    if is_digest(configuration):
        yield _piece("config_digest", configuration, "inspect Id", trust)
    labels = _config(container or image or {}).get("Labels")
    for name in LABELS:
        value = labels.get(name) if isinstance(labels, dict) else None
        if isinstance(value, str) and 0 < len(value) <= _LONGEST and not variables.looks_secret(value):
            yield _piece("label", f"{name}={value}", "inspect Labels", "self-declared")
    for name in VENDOR_NAMES:
        value = environ.get(name, "")
        if value and len(value) <= _LONGEST and not variables.looks_secret(value):
            yield _piece("label", f"{name}={value}", "inspect Env", "hinted")


def _piece(what: str, value: str, source: str, trust: str) -> Piece:
    return {"what": what, "value": value, "source": source, "trust": trust}


def _machine(container: Inspected | None, image: Inspected | None) -> dict[str, dict[str, Any]]:
    """Return system and processor by the platform of the image, and the share of processors of the container."""
    result: dict[str, dict[str, Any]] = {}
    told = (image or {}).get("Os") or (container or {}).get("Platform")
    if told in ("linux", "windows"):
        result["system"] = {"os_family": told}
    machine = _MACHINES.get(str((image or {}).get("Architecture")))
    if machine:
        result["cpu"] = {"architecture": machine}
    limit = _limit((container or {}).get("HostConfig"))
    if limit:
        result["threads"] = {"cgroup_limit_millicpu": limit}
    return result


def _limit(host: Any) -> int | None:
    """Return the share of processors that the container may use, in thousandths; ``None`` where none is told."""
    if not isinstance(host, dict):
        return None
    share, quota, period = (_count(host.get(key)) for key in ("NanoCpus", "CpuQuota", "CpuPeriod"))
    limit = share // 1_000_000 if share else quota * 1000 // (period or 100_000)
    return limit or None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 43 else 0


def _config(item: Inspected) -> dict[str, Any]:
    found = item.get("Config")
    return found if isinstance(found, dict) else {}


def _texts(value: Any) -> list[str]:
    return [item for item in value[:_MOST_TEXTS] if isinstance(item, str)] if isinstance(value, list) else []


def _environ(item: Inspected) -> dict[str, str]:
    """Return the environment; of a variable that stands there twice the last value acts."""
    pairs = (text.partition("=") for text in _texts(_config(item).get("Env")))
    return {name: value for name, equals, value in pairs if equals}
