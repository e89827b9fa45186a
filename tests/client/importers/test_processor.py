"""The CPU block: lscpu in many languages, Windows' two lists, macOS' one line."""

from __future__ import annotations

import pytest
from importing import dump_text, stack_of

NOT_RECORDED = {"unread": "not-recorded"}
FLAGS = "fpu vme sse sse2 sse4_1 sse4_2 avx f16c fma avx2 bmi1 bmi2 avx512f avx512bw hypervisor erms"
ISA = ["avx", "avx2", "avx512bw", "avx512f", "bmi1", "bmi2", "erms", "f16c", "fma", "sse4_1", "sse4_2"]

#: language -> labels of architecture, processors, list online, vendor, family, model, model name, flags.
LANGUAGES = {
    "English": (
        "Architecture:",
        "CPU(s):",
        "On-line CPU(s) list:",
        "Vendor ID:",
        "CPU family:",
        "Model:",
        "Model name:",
        "Flags:",
    ),
    "German": (
        "Architektur:",
        "CPU(s):",
        "Liste der Online-CPU(s):",
        "Anbieterkennung:",
        "Prozessorfamilie:",
        "Modell:",
        "Modellname:",
        "Markierungen:",
    ),
    "French": (
        "Architecture :",
        "Processeur(s) :",
        "Liste de processeur(s) en ligne :",
        "Identifiant constructeur :",
        "Famille de processeur :",
        "Mod\u00e8le :",
        "Nom de mod\u00e8le :",
        "Drapaux :",
    ),
    "Spanish": (
        "Arquitectura:",
        "CPU(s):",
        "Lista de la(s) CPU(s) en l\u00ednea:",
        "ID de fabricante:",
        "Familia de CPU:",
        "Modelo:",
        "Nombre del modelo:",
        "Indicadores:",
    ),
    "Portuguese": (
        "Arquitetura:",
        "CPU(s):",
        "Lista de CPU(s) on-line:",
        "ID de fornecedor:",
        "Fam\u00edlia da CPU:",
        "Modelo:",
        "Nome do modelo:",
        "Op\u00e7\u00f5es:",
    ),
    "Russian": (
        "\u0410\u0440\u0445\u0438\u0442\u0435\u043a\u0442\u0443\u0440\u0430:",
        "CPU(s):",
        "On-line CPU(s) list:",
        "ID \u043f\u0440\u043e\u0438\u0437\u0432\u043e\u0434\u0438\u0442\u0435\u043b\u044f:",
        "\u0421\u0435\u043c\u0435\u0439\u0441\u0442\u0432\u043e \u0426\u041f\u0423:",
        "\u041c\u043e\u0434\u0435\u043b\u044c:",
        "\u0418\u043c\u044f \u043c\u043e\u0434\u0435\u043b\u0438:",
        "\u0424\u043b\u0430\u0433\u0438:",
    ),
    "Chinese": (
        "\u67b6\u6784\uff1a",
        "CPU:",
        "\u5728\u7ebf CPU \u5217\u8868\uff1a",
        "\u5382\u5546 ID\uff1a",
        "CPU \u7cfb\u5217\uff1a",
        "\u578b\u53f7\uff1a",
        "\u578b\u53f7\u540d\u79f0\uff1a",
        "\u6807\u8bb0\uff1a",
    ),
    "Japanese": (
        "\u30a2\u30fc\u30ad\u30c6\u30af\u30c1\u30e3:",
        "CPU:",
        "\u30aa\u30f3\u30e9\u30a4\u30f3 CPU \u306e\u30ea\u30b9\u30c8:",
        "\u30d9\u30f3\u30c0\u30fc ID:",
        "CPU \u30d5\u30a1\u30df\u30ea\u30fc:",
        "\u30e2\u30c7\u30eb:",
        "\u30e2\u30c7\u30eb\u540d:",
        "\u30d5\u30e9\u30b0:",
    ),
}


def lscpu(labels, **values):
    told = {
        "architecture": "x86_64",
        "count": "64",
        "online": "0-63",
        "vendor": "GenuineIntel",
        "family": "6",
        "model": "143",
        "name": "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz",
        "flags": FLAGS,
        **values,
    }
    return "\n".join(f"{label:<40}{value}" for label, value in zip(labels, told.values(), strict=True))


def cpu_of(block, **lines):
    return stack_of(dump_text(cpu=block, **lines))["cpu"]


@pytest.mark.parametrize("labels", LANGUAGES.values(), ids=LANGUAGES.keys())
def test_lscpu_in_any_language_says_the_same(labels):
    cpu = cpu_of(lscpu(labels))
    assert cpu == {
        "architecture": "x86_64",
        "vendor": "GenuineIntel",
        "model": "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz",
        "microarchitecture": "6-143",
        "instruction_sets": ISA,
        "cores": 64,
        "torch_capability": NOT_RECORDED,
        "numpy_simd": NOT_RECORDED,
    }


def test_offline_processors_do_not_count():
    assert cpu_of(lscpu(LANGUAGES["English"], count="64", online="0-15,32-47"))["cores"] == 32


def test_one_processor():
    assert cpu_of(lscpu(LANGUAGES["English"], count="1", online="0"))["cores"] == 1


def test_wrapped_flags_are_read_in_full():
    first, second = FLAGS[: FLAGS.index("avx2")], FLAGS[FLAGS.index("avx2") :]
    block = lscpu(LANGUAGES["English"], flags=f"{first.strip()}\n{second}")
    assert cpu_of(block)["instruction_sets"] == ISA


def test_flags_that_the_end_of_the_text_breaks_are_not_read():
    text = dump_text(cpu=lscpu(LANGUAGES["English"])).partition(" bmi1")[0]
    assert stack_of(text)["cpu"]["instruction_sets"] == NOT_RECORDED
    assert stack_of(text)["cpu"]["model"] == "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz"


@pytest.mark.parametrize(
    ("extra", "found"),
    [
        ("Hypervisor vendor: KVM\n", "kvm"),
        ("Hypervisor vendor: Microsoft\n", "hyperv"),
        ("Hypervisor vendor: VMware\n", "vmware"),
        ("", {"unread": "not-reported"}),
    ],
)
def test_hypervisor(extra, found):
    text = dump_text(cpu=extra + lscpu(LANGUAGES["English"]))
    assert stack_of(text)["system"]["virtualisation"] == found


def test_flags_without_hypervisor_are_bare_metal():
    text = dump_text(cpu=lscpu(LANGUAGES["English"], flags=FLAGS.replace(" hypervisor", "")))
    assert stack_of(text)["system"]["virtualisation"] is None


def test_arm_names_its_implementer():
    block = (
        "Architecture: aarch64\nCPU(s): 72\nOn-line CPU(s) list: 0-71\nVendor ID: ARM\nModel name: Neoverse-V2\n"
        "Model: 0\nFlags: fp asimd evtstrm aes crc32 asimdhp sve sve2 bf16 i8mm"
    )
    cpu = cpu_of(block, os="Ubuntu 22.04.4 LTS (aarch64)")
    assert (cpu["architecture"], cpu["vendor"], cpu["model"], cpu["cores"]) == (
        "aarch64",
        "arm-0x41",
        "Neoverse-V2",
        72,
    )
    assert cpu["instruction_sets"] == ["asimd", "asimdhp", "bf16", "i8mm", "sve", "sve2"]
    assert cpu["microarchitecture"] == NOT_RECORDED


WINDOWS = {
    "wmic": "Architecture=9\nCurrentClockSpeed=2592\nDeviceID=CPU0\nFamily=198\nL2CacheSize=1536\n"
    "Manufacturer=GenuineIntel\nMaxClockSpeed=2592\nName=Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz\nRevision=",
    "PowerShell": "Name: Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz\nManufacturer: GenuineIntel\nFamily: 198\n"
    "Architecture: 9\nProcessorType: 3\nDeviceID: CPU0\nMaxClockSpeed: 2592\nRevision: None",
}


@pytest.mark.parametrize("block", WINDOWS.values(), ids=WINDOWS.keys())
def test_windows_list(block):
    cpu = cpu_of(block, os="Microsoft Windows 11 Home", platform="Windows-10-10.0.22631-SP0")
    assert (cpu["architecture"], cpu["vendor"], cpu["model"]) == (
        "x86_64",
        "GenuineIntel",
        "Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz",
    )
    assert cpu["cores"] == cpu["instruction_sets"] == cpu["microarchitecture"] == NOT_RECORDED


def test_one_line_of_macos():
    assert cpu_of("Apple M1 Max")["model"] == "Apple M1 Max"


def test_architecture_by_the_systems_name_without_a_block():
    assert cpu_of("", os="Ubuntu 22.04.4 LTS (aarch64)", platform="N/A")["architecture"] == "aarch64"
    assert cpu_of("", os="Windows", platform="N/A")["architecture"] == NOT_RECORDED


def test_sectioned_dump_has_its_block_under_a_banner():
    text = (
        "==============================\n        System Info\n==============================\n"
        "OS                           : Ubuntu 22.04.5 LTS (x86_64)\nPyTorch version              : 2.9.0+cu130\n"
        "==============================\n          CPU Info\n==============================\n"
        + lscpu(LANGUAGES["English"])
        + "\n\n==============================\nVersions of relevant libraries\n==============================\n"
        "[pip3] numpy==2.2.6\n[conda] Could not collect\n\n==============================\n"
        "         vLLM Info\n==============================\nROCM Version                 : Could not collect\n"
        "vLLM Version                 : 0.11.0\nvLLM Build Flags:\n  CUDA Archs: Not Set\nGPU Topology:\n"
        "  \tGPU0\tCPU Affinity\nGPU0\t X \t0-15\n"
    )
    stack = stack_of(text)
    assert stack["cpu"]["cores"] == 64
    assert stack["frameworks"]["numpy"]["version"] == "2.2.6"
