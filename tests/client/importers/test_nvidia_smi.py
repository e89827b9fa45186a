"""Tables, lists, logs and queries of nvidia-smi: every era's lines, and what each odd cell becomes."""

from __future__ import annotations

import pytest
from importing import document_of, notes_of, stack_of

from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_unread
from repro_env.importers import import_text

SILENT = {"unread": "not-reported"}
NOT_RECORDED = {"unread": "not-recorded"}
HEAD = """| NVIDIA-SMI {driver}    Driver Version: {driver}    CUDA Version: {cuda}     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
"""
GPU = """|   {index}  {name:<18} {persistence}  | 00000000:0{index}:00.0 {display} |{ecc:>21} |
| N/A   33C    P0    31W / 300W |      0MiB / {memory:>8} |      0%      Default |
|                               |                      |{mig:>21} |
+-------------------------------+----------------------+----------------------+
"""
END = "\n| Processes:                                                                  |\n"


def gpu(index=0, name="Tesla T4", persistence="On ", display="Off", ecc="0", memory="15109MiB", mig="N/A"):
    return GPU.format(
        index=index, name=name, persistence=persistence, display=display, ecc=ecc, memory=memory, mig=mig
    )


def table(*gpus, driver="460.32.03", cuda="11.2", end=END):
    return HEAD.format(driver=driver, cuda=cuda) + "".join(gpus or (gpu(),)) + end


def devices(text):
    return stack_of(text)["accelerators"]["devices"]


def device(text):
    (only,) = devices(text)
    return only


def test_a_table_tells_driver_cuda_level_and_devices():
    stack = stack_of(table())
    assert (stack["driver"]["kernel_module"], stack["driver"]["cuda_level"]) == ("460.32.03", "11.2")
    only = device(table())
    assert (only["name"], only["memory_bytes"], only["ecc"], only["mig_profile"]) == (
        "Tesla T4",
        15109 << 20,
        True,
        None,
    )


def test_cuda_version_is_neither_toolkit_nor_build_of_torch_nor_runtime():
    stack = stack_of(table())
    assert is_unread(stack["libraries"]["cuda_toolkit"])
    assert is_unread(stack["libraries"]["cuda_runtime"])
    assert is_unread(stack["frameworks"]["torch"])
    assert is_unread(stack["driver"]["user_libcuda"])


@pytest.mark.parametrize("word", ["N/A", "ERR!"])
def test_a_cuda_level_that_the_tool_could_not_ask_is_unread(word):
    assert stack_of(table(cuda=word))["driver"]["cuda_level"] == SILENT


@pytest.mark.parametrize(
    ("head", "driver", "level"),
    [
        ("| NVIDIA-SMI 352.39     Driver Version: 352.39         |", "352.39", NOT_RECORDED),
        ("| NVIDIA-SMI 384.81                 Driver Version: 384.81                    |", "384.81", NOT_RECORDED),
        ("| NVIDIA-SMI 418.67       Driver Version: 418.67       CUDA Version: 10.1     |", "418.67", "10.1"),
        ("NVIDIA-SMI 470.129.06   Driver Version: 470.129.06   CUDA Version: 11.4", "470.129.06", "11.4"),
        ("| NVIDIA-SMI 595.45.04     KMD Version: 595.45.04     CUDA UMD Version: 13.2 |", "595.45.04", "13.2"),
    ],
    ids=["352", "384", "418", "without frame", "595"],
)
def test_heads_of_every_era(head, driver, level):
    found = stack_of(head + "\n")["driver"]
    assert (found["kernel_module"], found["cuda_level"]) == (driver, level)


def test_head_alone_says_nothing_of_devices():
    assert devices(HEAD.format(driver="460.32.03", cuda="11.2")) == NOT_RECORDED


@pytest.mark.parametrize(
    ("cell", "ecc"), [("0", True), ("12", True), ("On", True), ("Off", False), ("N/A", None), ("ERR!", SILENT)]
)
def test_the_cell_of_errors_tells_whether_ecc_is_on(cell, ecc):
    assert device(table(gpu(ecc=cell)))["ecc"] == ecc


@pytest.mark.parametrize(("cell", "memory"), [("8192MiB", 8192 << 20), ("N/A", NOT_RECORDED)])
def test_memory_that_is_not_told_is_unread(cell, memory):
    assert device(table(gpu(memory=cell)))["memory_bytes"] == memory


def test_a_card_in_error_has_no_name_but_is_a_device():
    only = device(table(gpu(name="ERR!", persistence="ERR!", ecc="ERR!", memory="N/A")))
    assert (only["vendor"], only["name"], only["ecc"]) == ("nvidia", SILENT, SILENT)
    assert "GPU 0 gives no name: ERR!" in notes_of(table(gpu(name="ERR!")))


@pytest.mark.parametrize(
    ("cut", "capability", "form"),
    [
        ("Tesla V100-SXM2...", "7.0", "SXM"),
        ("NVIDIA A100-PCI...", "8.0", SILENT),
        ("Tesla P100-PCIE...", "6.0", "PCIe"),
        ("GeForce RTX 208...", SILENT, SILENT),
        ("NVIDIA GeForce ...", SILENT, SILENT),
        ("NVIDIA RTX A600...", SILENT, SILENT),
    ],
)
def test_of_a_cut_name_only_its_whole_words_count(cut, capability, form):
    only = device(table(gpu(name=cut)))
    assert only["name"] == SILENT
    assert (only["compute_capability"], only["form_factor"]) == (capability, form)
    assert f"the table cuts the name of GPU 0: {cut}" in notes_of(table(gpu(name=cut)))


@pytest.mark.parametrize("model", ["WDDM", "TCC", "MCDM"])
def test_a_driver_model_tells_windows(model):
    assert stack_of(table(gpu(persistence=model)))["system"]["os_family"] == "windows"


def test_no_driver_model_tells_no_system():
    assert is_unread(stack_of(table())["system"]["os_family"])


def test_devices_of_every_index_in_canonical_order():
    text = table(gpu(0, "TITAN V"), gpu(1, "Tesla T4"))
    assert [item["name"] for item in devices(text)] == ["TITAN V", "Tesla T4"]
    text = table(gpu(0, "Tesla T4"), gpu(1, "TITAN V"))
    assert [item["name"] for item in devices(text)] == ["TITAN V", "Tesla T4"]
    assert "GPUs in index order: Tesla T4; TITAN V" in notes_of(text)


def test_a_table_without_its_processes_may_lack_devices():
    assert devices(table(end=""))[-1] == dict.fromkeys(devices(table())[0], NOT_RECORDED)
    assert "the list of GPUs may not be whole" in notes_of(table(end=""))


@pytest.mark.parametrize("end", ["```\n", "and the other node:\n", "$ python train.py\n"])
def test_text_below_the_last_border_ends_the_table(end):
    assert len(devices(table(end=end))) == 1


def test_a_gpu_whose_lines_are_cut_is_not_the_last():
    text = table(gpu(0), gpu(1).split("\n")[0] + "\n", end="```\n")
    assert len(devices(text)) == 3
    assert devices(text)[-1]["vendor"] == NOT_RECORDED


def test_before_ampere_a_table_has_no_mig_and_no_slices():
    old = table().replace("|                               |                      |               MIG M. |\n", "")
    old = old.replace(
        "|                               |                      |                  N/A |\n", ""
    )
    assert device(old)["mig_profile"] is None


# MIG

MIG_TABLE = """
+-----------------------------------------------------------------------------+
| MIG devices:                                                                |
+------------------+----------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |
|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|
|                  |                      |        ECC|                       |
|==================+======================+===========+=======================|
{rows}"""
SLICE = """|  {gpu}    {instance}   0   {number}  |      3MiB /  {memory}MiB | {sms}      0 |  1   0    0    0    0 |
|                  |      0MiB / 16383MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+
"""


def mig_table(*slices, others=(), end=END):
    rows = "".join(
        SLICE.format(gpu=gpu, instance=7 + number, number=number, memory=memory, sms=sms)
        for gpu, number, memory, sms in slices
    )
    card = gpu(0, "A100-SXM4-40GB", mig="Enabled", ecc="On", memory="40536MiB")
    return table(card, *others, end=MIG_TABLE.format(rows=rows) + end)


def test_slices_are_the_devices_of_a_card_with_mig():
    found = devices(mig_table((0, 0, 20096, 42), (0, 1, 9984, 28)))
    assert [(item["sm_count"], item["memory_bytes"]) for item in found] == [(28, 9984 << 20), (42, 20096 << 20)]
    assert {item["name"] for item in found} == {"A100-SXM4-40GB"}
    assert all(item["mig_profile"] == SILENT for item in found)


def test_a_card_without_mig_stands_beside_slices():
    text = mig_table((0, 0, 4864, 14), others=(gpu(1, "A100-SXM4-40GB", mig="Disabled", memory="40536MiB"),))
    assert sorted(str(item["mig_profile"]) for item in devices(text)) == ["None", str(SILENT)]


def test_mig_without_slices_leaves_the_list_open():
    text = table(gpu(0, "A100-SXM4-40GB", mig="Enabled"), end="\n|  No MIG devices found  |\n" + END)
    assert [item["name"] for item in devices(text)] == [NOT_RECORDED]
    assert "MIG is on for GPU 0 (A100-SXM4-40GB), and the table shows no slice of it" in notes_of(text)


LIST = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000-0000-0000-0000-000000000000)
  MIG 3g.20gb     Device  0: (UUID: MIG-00000000-0000-0000-0000-000000000000)
  MIG 2g.10gb     Device  1: (UUID: MIG-00000000-0000-0000-0000-000000000001)
"""


def test_a_list_and_a_table_tell_profiles_and_sizes_together():
    text = LIST + "\n" + mig_table((0, 0, 20096, 42), (0, 1, 9984, 28)).replace("A100", "NVIDIA A100")
    found = {item["mig_profile"]: (item["sm_count"], item["memory_bytes"]) for item in devices(text)}
    assert found == {"3g.20gb": (42, 20096 << 20), "2g.10gb": (28, 9984 << 20)}


def test_the_last_card_of_a_list_may_have_slices_further_on():
    row = "GPU {n}: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000-0000-0000-0000-00000000000{n})\n"
    alone = row.format(n=0) + row.format(n=1)
    assert sorted(str(item["mig_profile"]) for item in devices(alone)) == ["None", str(NOT_RECORDED)]
    assert all(item["mig_profile"] is None for item in devices(alone + "$ exit\n"))


def test_a_list_that_breaks_off_in_a_row_is_open():
    text = LIST + "GPU 1: NVIDIA A10"
    assert devices(text)[-1]["vendor"] == NOT_RECORDED
    assert "A10" not in str([item["name"] for item in devices(text)]).replace("A100", "")


# logs and queries

LOG = """==============NVSMI LOG==============

Timestamp                                 : Fri Feb 18 12:00:03 2022
Driver Version                            : 510.47.03
CUDA Version                              : 11.6

Attached GPUs                             : {attached}
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA A10
    MIG Mode
        Current                           : N/A
        Pending                           : N/A
    Ecc Mode
        Current                           : {ecc}
        Pending                           : Enabled
    FB Memory Usage
        Total                             : {memory}
        Used                              : 0 MiB
    BAR1 Memory Usage
        Total                             : 32768 MiB
"""


def log(attached=1, ecc="Enabled", memory="23028 MiB"):
    return LOG.format(attached=attached, ecc=ecc, memory=memory)


def test_a_log_tells_current_states_not_pending_ones():
    only = device(log(ecc="Disabled"))
    assert (only["name"], only["ecc"], only["mig_profile"]) == ("NVIDIA A10", False, None)
    assert only["memory_bytes"] == 23028 << 20


def test_a_log_with_fewer_cards_than_it_counts_is_open():
    assert len(devices(log(attached=2))) == 2
    assert devices(log(attached=2))[-1]["vendor"] == NOT_RECORDED


def test_a_log_of_words_that_mean_nothing():
    only = device(log(ecc="N/A", memory="N/A"))
    assert (only["ecc"], only["memory_bytes"]) == (None, SILENT)


def test_a_log_of_one_topic_is_no_whole_list():
    text = log().partition("    FB Memory")[0]
    assert devices(text)[-1]["vendor"] == NOT_RECORDED


def query(columns, *rows):
    return "\n".join((columns, *rows)) + "\n"


def test_a_query_tells_what_its_columns_name():
    text = query(
        "index, name, driver_version, memory.total [MiB], compute_cap, ecc.mode.current",
        "0, NVIDIA L4, 535.54.03, 23034 MiB, 8.9, Enabled",
    )
    only = device(text)
    assert (only["compute_capability"], only["ecc"], only["memory_bytes"]) == ("8.9", True, 23034 << 20)
    assert stack_of(text)["driver"]["kernel_module"] == "535.54.03"


@pytest.mark.parametrize("word", ["[N/A]", "[Not Supported]", "N/A"])
def test_ecc_that_a_card_does_not_have_is_absent(word):
    assert device(query("name, ecc.mode.current, uuid", f"Tesla T4, {word}, GPU-0"))["ecc"] is None


@pytest.mark.parametrize("word", ["[N/A]", "[Insufficient Permissions]", "[Unknown Error]"])
def test_memory_that_a_query_could_not_read_is_unread(word):
    assert device(query("name, memory.total [MiB]", f"NVIDIA GB10, {word}"))["memory_bytes"] == SILENT


def test_a_query_with_mig_does_not_tell_slices_apart():
    text = query("name, mig.mode.current, uuid", "NVIDIA A30, Enabled, GPU-0", "NVIDIA A30, Disabled, GPU-1")
    assert [item["mig_profile"] for item in devices(text)] == [None, NOT_RECORDED]


def test_columns_without_a_head_are_those_of_the_command():
    text = "$ nvidia-smi --query-gpu=name,memory.total --format=csv,noheader\nTesla T4, 15109 MiB\n$\n"
    assert device(text)["memory_bytes"] == 15109 << 20


@pytest.mark.parametrize(
    "text",
    [
        "name, age, city\nNVIDIA, 3, x\n",
        "model, driver_version\n, \n",
        "epoch, loss, memory.used\n1, 0.3, 5\n",
        "name\nhello world\n",
        "see --query-gpu=name --format=csv,noheader\nthanks\n",
    ],
)
def test_other_tables_are_none_of_its_queries(text):
    with pytest.raises(UnknownFormat):
        import_text(text)


# what is not to be trusted


@pytest.mark.parametrize(
    ("driver", "cuda", "noted"),
    [("560.35.03", "12.8", True), ("560.35.03", "12.6", False), ("535.1.1", "12.2", False), ("470.57", "12.0", True)],
)
def test_a_cuda_newer_than_the_driver_brings_is_noted(driver, cuda, noted):
    notes = notes_of(table(driver=driver, cuda=cuda))
    assert any("forward-compatibility" in note for note in notes) is noted


@pytest.mark.parametrize(
    ("name", "memory", "noted"),
    [
        ("NVIDIA H800", "143771MiB", True),
        ("NVIDIA H800", "81559MiB", False),
        ("A100-SXM4-40GB", "40536MiB", False),
        ("A100-SXM4-40GB", "81920MiB", True),
        ("Tesla T4", "15109MiB", False),
        ("Quadro XYZ 9", "1000MiB", False),
    ],
)
def test_a_memory_that_no_device_of_the_name_has_is_noted(name, memory, noted):
    notes = notes_of(table(gpu(name=name, memory=memory, mig="Disabled")))
    assert any("not to be trusted" in note for note in notes) is noted


def test_tool_and_driver_of_two_versions_are_noted():
    text = table().replace("NVIDIA-SMI 460.32.03", "NVIDIA-SMI 460.32.02")
    assert "nvidia-smi is of 460.32.02, the driver is 460.32.03" in notes_of(text)


@pytest.mark.parametrize(
    "line",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that it runs.",
        "Failed to initialize NVML: Driver/library version mismatch",
        "No devices were found",
        "Unable to determine the device handle for GPU 0000:1A:00.0: Unknown Error",
    ],
)
def test_a_failed_call_is_not_no_gpu(line):
    document = document_of(line + "\n")
    assert document["stack"]["accelerators"]["devices"] == SILENT
    assert any(note.startswith("nvidia-smi failed: ") for note in document["capture"]["imported"]["notes"])


def test_uuids_of_devices_are_left_out():
    assert "GPU-00000000" not in str(document_of(LIST))
