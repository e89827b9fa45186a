"""What tells which image a process runs in: variables of launchers, files of engines, files in the image.

Every piece is kept with its source and how far it can be trusted; ``container`` decides what follows from them.

``hinted``: a version that a vendor's image happens to say. ``self-declared``: a file or label that is part of the
image, and of every image made from it. ``claimed``: a variable that somebody outside set. ``observed``: a file that
the engine wrote for this container.
"""

from __future__ import annotations

from ..variables import looks_secret, without_credentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..system import System
    from .look import Look

    Piece = dict[str, str]

TRUST = ("hinted", "self-declared", "claimed", "verified", "observed")
BAKED_FILE = "/etc/repro-env/image.json"
#: variables in which launchers hand over what image they started, the one meant for this client first.
_REFERENCES = ("REPRO_ENV_IMAGE", "WANDB_DOCKER", "SHIFTER_IMAGEREQUEST", "APPTAINER_CONTAINER",
               "SINGULARITY_CONTAINER", "SLURM_CONTAINER")
#: versions that vendors' images carry in their environment.
VENDOR_NAMES = ("NVIDIA_PRODUCT_NAME", "NVIDIA_PYTORCH_VERSION", "NVIDIA_TENSORFLOW_VERSION", "NVIDIA_JAX_VERSION",
                 "NVIDIA_BUILD_ID", "DLC_CONTAINER_TYPE")
#: labels that name an image or its making; others may hold anything.
LABELS = ("org.opencontainers.image.version", "org.opencontainers.image.revision",
           "org.opencontainers.image.ref.name", "org.opencontainers.image.base.name",
           "org.opencontainers.image.base.digest", "org.label-schema.usage.singularity.deffile.from",
           "com.nvidia.build.id", "com.nvidia.build.ref")
_FROM, _BASE_NAME, _BASE_DIGEST = LABELS[5], LABELS[3], LABELS[4]
#: lines of a definition file that only name where the image comes from.
_HEADER = ("bootstrap", "from", "registry", "namespace", "includecmd")
_LONGEST = 512


def collect(system: System, look: Look) -> list[Piece]:
    """Return every piece of evidence, the launcher's first; a file that cannot be read is noted and left out."""
    found: list[Piece] = []
    for place, reader in _READERS:
        try:
            found += reader(system)
        except (OSError, ValueError, TypeError) as error:
            code = "denied" if isinstance(error, PermissionError) else "failed"
            look.failed("capture.image_evidence", code, f"{place} could not be read")
    kept = [piece for piece in found if len(piece["value"]) <= _LONGEST and not _hides(piece["value"])]
    return [piece for position, piece in enumerate(kept) if piece not in kept[:position]]


def plain_reference(text: str) -> str:
    """Return an image reference as registries spell it: no scheme, no user, ``/`` behind the registry.

    Empty for what is no reference but a place on this host.
    """
    for scheme in ("docker://", "dockerd://", "podman://", "oras://", "docker:"):
        text = text.removeprefix(scheme)
    registry, mark, image = text.partition("#")
    if mark:
        text = f"{registry.rpartition('@')[2]}/{image}"
    _, at, rest = text.partition("@")
    if at and not rest.startswith("sha256:"):
        text = rest
    usable = text and text[0] not in "/.~" and "://" not in text and not any(letter.isspace() for letter in text)
    return text if usable else ""


def is_digest(text: str) -> bool:
    """Tell whether ``text`` is ``sha256:`` and 64 hexadecimal digits."""
    kind, _, digits = text.partition(":")
    return kind == "sha256" and is_hex(digits)


def is_hex(text: str) -> bool:
    """Tell whether ``text`` is 64 hexadecimal digits, as ids of containers and digests are."""
    return len(text) == 64 and all(digit in "0123456789abcdef" for digit in text)


def _piece(what: str, value: str, source: str, trust: str) -> Piece:
    return {"what": what, "value": value, "source": source, "trust": trust}


def _reference(text: str, source: str, trust: str) -> Iterator[Piece]:
    """Yield a reference, and the digest that it pins."""
    shown = plain_reference(text) or without_credentials(text)
    if not shown:
        return
    yield _piece("image_reference", shown, source, trust)
    digest = shown.rpartition("@")[2]
    if is_digest(digest):
        yield _piece("image_digest", digest, source, trust)


def _launcher(system: System) -> Iterator[Piece]:
    """Yield what variables of a launcher say."""
    environ = system.environ
    digest = environ.get("REPRO_ENV_IMAGE_DIGEST", "")
    if is_digest(digest):
        yield _piece("image_digest", digest, "REPRO_ENV_IMAGE_DIGEST", "claimed")
    for name in _REFERENCES:
        yield from _reference(environ.get(name, ""), name, "claimed")


def _baked(system: System) -> Iterator[Piece]:
    """Yield what the file says that images of this project carry."""
    text = _text(system, BAKED_FILE)
    if text is None:
        return
    told = _json_object(text)
    key, name = told.get("image_key"), told.get("definition")
    if isinstance(key, str) and is_digest(key):
        yield _piece("image_key", key, BAKED_FILE, "self-declared")
    if isinstance(name, str) and name:
        yield _piece("label", f"definition={name}", BAKED_FILE, "self-declared")


def _containerenv(system: System) -> Iterator[Piece]:
    """Yield what podman or buildah wrote."""
    told = containerenv(system)
    yield from _reference(told.get("image", ""), "/run/.containerenv", "observed")
    if is_hex(told.get("imageid", "")):
        yield _piece("config_digest", f"sha256:{told['imageid']}", "/run/.containerenv", "observed")


def containerenv(system: System) -> dict[str, str]:
    """Return what podman or buildah wrote for this container; for an unprivileged one that is nothing."""
    pairs = (line.partition("=") for line in (_text(system, "/run/.containerenv") or "").splitlines())
    return {name.strip(): value.strip().strip('"') for name, equals, value in pairs if equals}


def _enroot(system: System) -> Iterator[Piece]:
    """Yield what enroot noted at the import: the address as it was typed, and the labels."""
    text = enroot_script(system)
    if text is None:
        return
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        name, _, value = line.lstrip("# ").partition(" ")
        if "://" in name and not value:
            yield from _reference(name, "/etc/rc", "self-declared")
        elif name in LABELS and value:
            yield _piece("label", f"{name}={value.strip()}", "/etc/rc", "self-declared")
    yield from _vendor_lines((_text(system, "/etc/environment") or "").splitlines(), "/etc/environment")


def enroot_script(system: System) -> str | None:
    """Return the start script that enroot writes into an image as ``/etc/rc``; ``None`` for any other."""
    text = _text(system, "/etc/rc")
    return text if text is not None and "/etc/rc.local" in text and "exec " in text else None


def _apptainer(system: System) -> Iterator[Piece]:
    """Yield the labels of an Apptainer image, and its origin where nothing was added to it."""
    text = _text(system, "/.singularity.d/labels.json")
    if text is None:
        return
    labels = {name: value for name, value in _json_object(text).items() if isinstance(value, str)}
    source = "/.singularity.d/labels.json"
    for name in LABELS:
        if labels.get(name):
            yield _piece("label", f"{name}={labels[name]}", source, "self-declared")
    base = labels.get(_FROM, "")
    if base and _only_pulled(_text(system, "/.singularity.d/Singularity") or ""):
        yield from _reference(base, source, "self-declared")
        if is_digest(labels.get(_BASE_DIGEST, "")) and _same_image(base, labels.get(_BASE_NAME, "")):
            yield _piece("image_digest", labels[_BASE_DIGEST], source, "self-declared")


def _only_pulled(definition: str) -> bool:
    """Tell whether a definition file adds nothing to the image it names."""
    lines = [line.strip() for line in definition.splitlines() if line.strip()]
    return bool(lines) and all(line.partition(":")[0].strip().lower() in _HEADER for line in lines)


def _same_image(short: str, full: str) -> bool:
    """Tell whether ``full`` is what Docker makes of ``short``: a base image's own label names another base."""
    name = plain_reference(short)
    tagged = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
    return full in (name, tagged, f"docker.io/{tagged}", f"docker.io/library/{tagged}")


def _vendor(system: System) -> Iterator[Piece]:
    """Yield versions from variables of a vendor's image."""
    environ = system.environ
    yield from _vendor_lines([f"{name}={environ[name]}" for name in VENDOR_NAMES if environ.get(name)], "variable")


def _vendor_lines(lines: list[str], source: str) -> Iterator[Piece]:
    for line in lines:
        name, _, value = line.partition("=")
        if name in VENDOR_NAMES and value:
            yield _piece("label", f"{name}={value.strip()}", source if source[0] == "/" else name, "hinted")


_READERS = (("variables of the launcher", _launcher), ("/run/.containerenv", _containerenv), (BAKED_FILE, _baked),
            ("/etc/rc", _enroot), ("/.singularity.d", _apptainer), ("variables of the image", _vendor))


def _text(system: System, path: str) -> str | None:
    """Return the text of a file, ``None`` where there is none; raise ``OSError`` where it cannot be read."""
    try:
        return system.read_text(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _json_object(text: str) -> dict[str, Any]:
    """Return a JSON object; raise ``ValueError`` or ``TypeError`` for anything else."""
    import json

    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {type(value).__name__}")
    return value


def _hides(value: str) -> bool:
    """Tell whether a value has the shape of a secret; the digits of a digest have it by nature."""
    head, _, digest = value.rpartition("sha256:")
    return looks_secret(head if is_hex(digest) else value)
