"""``repro-env import``: a document from a text that people already have."""

from __future__ import annotations

from ..errors import InvalidDocument, SpoolError, UsageError
from ..importers import FORMATS
from ..render.stated import stated
from . import reading, sending
from .capture import document_text
from .console import answer, continue_saying, say
from .options import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..settings import Settings

NOT_DELIVERED = 1
MAX_NOTES = 3
#: how notes begin that ask nothing of a person; they stand in the document alone.
ROUTINE = ("CUDA runtime version is ", "cuDNN files are ", "Is CUDA available: ", "HIP runtime version: ",
           "GPUs in index order: ", "the text ends in the list of cuDNN files", "processor, its name shortened: ",
           "memory that torch can use: ", "accelerate's default configuration", "distributed or parallel set-up",
           "operators built beforehand", "DeepSpeed was compiled with", "accelerator that ")


COMMAND = Command(
    "import", "Makes a document from an environment dump and sends it as a run. What the dump does not say stays "
    "unread; what it says wrongly is not believed, and said.",
    usage="import FILE [options]",
    examples=(("repro-env import collect_env.txt --run-id gpu-a", "store a dump as the run gpu-a"),
              ("python -m torch.utils.collect_env | repro-env import -", "from a pipe"),
              ("repro-env import collect_env.txt -o env.json --no-send", "only make the document")),
    arguments=(("FILE", "a report of one of the formats below, or several in one text, or a document of repro-env; - "
                "for standard input"),),
    options=(sending.JSON, sending.OUTPUT, sending.NO_SEND, sending.RUN_ID, sending.PROJECT, sending.GROUP,
             sending.LABEL, sending.SERVER, sending.TIMEOUT),
    notes="formats:\n" + "".join(f"{form}\t{made_by}\n" for form, made_by in FORMATS.items())
    + "Exit codes: 0 done, 1 made but not delivered (it waits in the spool), 65 the format is not known or the "
    "document is invalid.")


def main(values: dict[str, Any]) -> int:
    """Import one file; return 0, or 1 where it could not be delivered."""
    (path,) = values["arguments"]
    settings = sending.load(values)
    found = reading.documents(path, run_id=settings.run_id, project=settings.project, group=settings.group,
                              labels=settings.labels)
    _refuse_renaming(path, found, values)
    for document in found:
        _recognised(path, document)
    _hand_over(found, values)
    if not sending.waits_in_spool(values, settings):
        return 0
    delivered = [_deliver(document, values, settings) for document in found]
    return 0 if all(delivered) else NOT_DELIVERED


def _refuse_renaming(path: str, found: list[dict[str, Any]], values: dict[str, Any]) -> None:
    """A finished document keeps its names: changing them would make another observation of it."""
    given = [name for name in ("run_id", "project", "group", "labels") if values.get(name)]
    if given and any(document["capture"]["vantage"] != "import" for document in found):
        from ..settings import flag_name

        raise UsageError(f"import: {sending.file_name(path)} is a document of repro-env already and keeps its run, "
                         f"project, group and labels; leave out --{flag_name(given[0])}")


def _recognised(path: str, document: dict[str, Any]) -> None:
    record = document["capture"]
    made = record["imported"]
    form = made["format"] if isinstance(made, dict) and "format" in made else f"repro-env {record['vantage']} document"
    say(f"{sending.file_name(path)}: recognised as {form}; run {record['run_id']}")
    notes = made["notes"] if isinstance(made, dict) and "notes" in made else []
    if record["vantage"] == "import":
        continue_saying(f"states {stated(document)}")
    telling = [note for note in notes if not note.startswith(ROUTINE)]
    for note in telling[:MAX_NOTES]:
        continue_saying(f"note: {note}")
    if len(telling) > MAX_NOTES:
        continue_saying(f"and {len(telling) - MAX_NOTES} more under capture.imported.notes of the document")


def _hand_over(found: list[dict[str, Any]], values: dict[str, Any]) -> None:
    if len(found) > 1 and (values.get("json") or values.get("output")):
        raise InvalidDocument("$", f"expected one document for --json or -o, got {len(found)}")
    text = document_text(found[0])
    if values.get("json"):
        answer(text)
    if values.get("output"):
        from ..spool import write_file

        write_file(values["output"], text.encode("utf-8"))


def _deliver(document: dict[str, Any], values: dict[str, Any], settings: Settings) -> bool:
    from ..delivery import KEPT, LOST, SENT, deliver

    send = not values.get("no_send")
    outcome = deliver(document, settings, timeout_s=sending.patience_s(settings), send=send)
    if outcome.state == LOST:
        raise SpoolError(f"the document was neither sent nor kept: {outcome.problem}")
    sending.tell(f"run {document['capture']['run_id']}", outcome, settings)
    return outcome.state == SENT or (outcome.state == KEPT and not outcome.problem)
