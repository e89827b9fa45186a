"""Several reports in one text: what is joined, what is left out, and what the notes say of it."""

from __future__ import annotations

import json

import pytest
from importing import document_of, dump_text, notes_of, stack_of

from repro_env.importers.format import Reading
from repro_env.importers.merging import join

SMI = """| NVIDIA-SMI 550.54.15              Driver Version: {driver}      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  {name:<32}On  |   00000000:1B:00.0 Off |                    0 |
| N/A   28C    P0             68W /  700W |       1MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
| Processes:                                                                              |
"""
TRANSFORMERS = """- `transformers` version: 4.41.2
- Platform: Linux-5.15.0-105-generic-x86_64-with-glibc2.35
- Python version: {python}
- PyTorch version (GPU?): {torch} (True)
- GPU type: NVIDIA H100 80GB HBM3

"""


def smi(driver="550.54.15", name="NVIDIA H100 80GB HBM3"):
    return SMI.format(driver=driver, name=name)


def transformers(torch="2.4.1+cu121", python="3.10.12"):
    return TRANSFORMERS.format(torch=torch, python=python)


def test_reports_of_one_machine_complete_one_another():
    stack = stack_of(transformers() + smi())
    assert stack["frameworks"]["torch"]["version"] == "2.4.1+cu121"
    assert stack["driver"]["kernel_module"] == "550.54.15"
    (device,) = stack["accelerators"]["devices"]
    assert (device["name"], device["memory_bytes"]) == ("NVIDIA H100 80GB HBM3", 81559 << 20)


def test_first_report_leads_and_the_note_names_both():
    document = document_of(transformers() + smi())
    imported = document["capture"]["imported"]
    assert imported["format"] == "transformers-env"
    assert "the text holds another report, nvidia-smi, at line 7: what it adds to transformers-env is kept" in (
        imported["notes"]
    )


def test_order_decides_who_leads_and_no_fact():
    one, other = document_of(transformers() + smi()), document_of(smi() + "\n" + transformers())
    assert other["capture"]["imported"]["format"] == "nvidia-smi"
    assert one["stack"] == other["stack"]


def test_each_fact_has_the_report_it_came_from_as_its_source():
    sources = document_of(transformers() + smi())["capture"]["sources"]
    assert sources["frameworks"] == "imported:transformers-env"
    assert sources["driver"] == "imported:nvidia-smi"
    assert sources["accelerators.devices"] == "imported:nvidia-smi"


@pytest.mark.parametrize(
    ("other", "path"),
    [
        (transformers(torch="2.3.1+cu121"), "frameworks.torch.version"),
        (transformers(python="3.11.2"), "python.version"),
        (smi(driver="535.1.1"), "driver.kernel_module"),
        (smi(name="NVIDIA L4"), "accelerators.devices"),
    ],
    ids=["torch", "python", "driver", "device"],
)
def test_a_report_that_says_otherwise_is_left_out_and_noted_with_its_line(other, path):
    text = dump_text() + "\nafter the change:\n" + other
    assert stack_of(text) == stack_of(dump_text())
    (note,) = [note for note in notes_of(text) if "says otherwise" in note]
    assert f"says otherwise of {path}" in note
    assert f"at line {text[: text.index(other[:20])].count(chr(10)) + 1}" in note


def test_of_two_tables_of_one_tool_the_first_is_imported():
    text = smi() + "\non the other node:\n" + smi(driver="535.1.1")
    assert stack_of(text)["driver"]["kernel_module"] == "550.54.15"
    assert any("says otherwise of driver.kernel_module" in note for note in notes_of(text))


def test_of_two_lists_of_one_tool_the_first_is_imported():
    text = transformers() + "and with the other:\n" + transformers(torch="2.3.1+cu118")
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.4.1+cu121"
    assert "the text holds another such report at line 8: not imported" in notes_of(text)


def test_a_table_that_is_printed_again_says_nothing_new():
    assert stack_of(smi() + "\n" + smi()) == stack_of(smi())


def test_rows_that_two_tools_print_belong_to_the_surer_one():
    accelerate = (
        "- `Accelerate` version: 1.7.0\n- Platform: Linux-6.1.0-13-amd64-x86_64-with-glibc2.36\n"
        "- Python version: 3.11.2\n- Numpy version: 2.2.6\n- PyTorch version: 2.7.0+cu128\n"
        "- PyTorch accelerator: CUDA\n"
    )
    document = document_of(accelerate)
    assert document["capture"]["imported"]["format"] == "accelerate-env"
    assert not any("another" in note for note in document["capture"]["imported"]["notes"])


# values


def reading(form, line, **sections):
    return Reading(form, sections, first_line=line, keys=1)


def joined(first, second, path="libraries"):
    return join([reading("a", 0, **{path: first}), reading("b", 9, **{path: second})])


UNREAD = {"unread": "not-recorded"}


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("2.1.0", "2.1.0+cu121", "2.1.0+cu121"),
        ("3.10", "3.10.12", "3.10.12"),
        ("12.4.131", "12.4", "12.4.131"),
        ("2.4.1", "2.4.1", "2.4.1"),
        (UNREAD, "2.4.1", "2.4.1"),
        ("2.4.1", UNREAD, "2.4.1"),
        (None, None, None),
    ],
)
def test_the_finer_of_two_versions_is_kept(first, second, both):
    assert joined({"cuda_toolkit": first}, {"cuda_toolkit": second}).sections["libraries"]["cuda_toolkit"] == both


@pytest.mark.parametrize(("first", "second"), [("2.1", "2.10"), ("12.4", "12.1"), (None, "12.1"), ("2.4.1", None)])
def test_versions_of_which_neither_begins_the_other_contradict(first, second):
    found = joined({"cuda_toolkit": first}, {"cuda_toolkit": second})
    assert found.sections["libraries"]["cuda_toolkit"] == first
    assert "says otherwise of libraries.cuda_toolkit" in found.notes[-1]


def test_a_name_that_begins_another_is_another_device():
    found = joined({"model": "Xeon"}, {"model": "Xeon Gold"}, "cpu")
    assert found.sections["cpu"]["model"] == "Xeon"


def device(name=UNREAD, **facts):
    return {"vendor": "nvidia", "name": name, "memory_bytes": UNREAD, "mig_profile": UNREAD, **facts}


NOTHING = dict.fromkeys(device(), UNREAD)


def devices(first, second):
    padded = [[{**dict.fromkeys(keys, UNREAD), **item} for item in side] for side in (first, second)]
    return joined({"devices": padded[0]}, {"devices": padded[1]}, "accelerators")


keys = (
    "vendor",
    "name",
    "compute_capability",
    "gfx_target",
    "sm_count",
    "threads_per_sm",
    "memory_bytes",
    "mig_profile",
    "ecc",
    "form_factor",
)


def test_devices_are_matched_whatever_their_order():
    found = devices([device("A"), device("B")], [device("B", memory_bytes=2), device("A", memory_bytes=1)])
    told = {item["name"]: item["memory_bytes"] for item in found.sections["accelerators"]["devices"]}
    assert told == {"A": 1, "B": 2}


def test_an_open_list_takes_what_the_other_has():
    found = devices([device("A"), NOTHING], [device("A"), device("A"), device("B")])
    assert [item["name"] for item in found.sections["accelerators"]["devices"]] == ["A", "A", "B"]


def test_two_open_lists_stay_open():
    found = devices([device("A"), NOTHING], [device("B"), NOTHING])
    names = [item["name"] for item in found.sections["accelerators"]["devices"]]
    assert names == ["A", "B", UNREAD]


@pytest.mark.parametrize(
    ("first", "second"),
    [([device("A")], [device("A"), device("A")]), ([device("A"), device("B")], [device("A"), NOTHING, device("C")])],
    ids=["another number", "one that the whole list lacks"],
)
def test_lists_that_cannot_be_of_one_machine_contradict(first, second):
    found = devices(first, second)
    assert len(found.sections["accelerators"]["devices"]) == len(first)
    assert "says otherwise" in found.notes[-1]


def test_memory_in_mebibytes_is_the_same_memory_as_in_bytes():
    exact = 16945512448
    found = devices([device("A", memory_bytes=exact >> 20 << 20)], [device("A", memory_bytes=exact)])
    assert found.sections["accelerators"]["devices"][0]["memory_bytes"] == exact
    other = devices([device("A", memory_bytes=16 << 30)], [device("A", memory_bytes=exact)])
    assert "says otherwise" in other.notes[-1]


def rows(*pairs):
    return {
        "installed": [{"name": name, "version": version, "origin": UNREAD} for name, version in pairs],
        "complete": False,
    }


def test_distributions_are_joined_by_name():
    found = joined(rows(("b", "1.0")), rows(("a", "2.0"), ("b", "1.0+cu121")), "distributions")
    assert [(row["name"], row["version"]) for row in found.sections["distributions"]["installed"]] == [
        ("a", "2.0"),
        ("b", "1.0+cu121"),
    ]


def test_distributions_of_two_versions_contradict():
    found = joined(rows(("b", "1.0")), rows(("b", "2.0")), "distributions")
    assert "says otherwise of distributions.installed.b.version" in found.notes[-1]


def test_a_complete_list_makes_the_join_complete():
    found = joined(rows(("a", "1")), {**rows(("a", "1")), "complete": True}, "distributions")
    assert found.sections["distributions"]["complete"] is True


def test_of_overlapping_readings_the_one_with_more_keys_stays():
    surer = Reading("surer", {"python": {"version": "3.10"}}, first_line=2, keys=8)
    other = Reading("other", {"python": {"version": "3.9"}}, first_line=4, keys=2)
    found = join([other, surer])
    assert (found.format, found.notes) == ("surer", [])


def test_a_third_report_is_held_against_what_the_first_two_say():
    first = reading("a", 0, python={"version": "3.10"})
    second = reading("b", 5, driver={"kernel_module": "1.2"})
    third = reading("c", 9, driver={"kernel_module": "3.4"}, python={"version": "3.10"})
    found = join([first, second, third])
    assert found.sections["driver"]["kernel_module"] == "1.2"
    assert "report, c, at line 10, which says otherwise of driver.kernel_module" in found.notes[-1]


def test_json_and_a_table_of_one_machine_are_joined():
    metadata = json.dumps(
        {
            "os": "Linux-5.15.0-105-generic-x86_64-with-glibc2.35",
            "python": "3.10.12",
            "startedAt": "2024-01-01",
            "gpu_count": 1,
            "gpu_nvidia": [{"name": "NVIDIA H100 80GB HBM3", "memoryTotal": "85520809984"}],
        },
        indent=2,
    )
    stack = stack_of(metadata + "\n\n" + smi())
    assert stack["python"]["version"] == "3.10.12"
    assert stack["accelerators"]["devices"][0]["ecc"] is True
