"""Processor, quota, operating system and container, as their files tell them."""

from __future__ import annotations

import os
from typing import Any

import pytest
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.probes import container, cpu, host, threads
from repro_env.system import System


class Files(RecordedSystem):
    """A host that has the given files and nothing else; ``None`` refuses a file."""

    def __init__(self, files: dict[str, str | None], **environ: str) -> None:
        super().__init__("arm-node", **environ)
        self.texts = files

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        if path not in self.texts:
            raise FileNotFoundError(2, "not recorded", path)
        text = self.texts[path]
        if text is None:
            raise PermissionError(13, "refused", path)
        return text.encode()[:limit]

    def exists(self, path: str) -> bool:
        return any(name == path or name.startswith(path + "/") for name in self.texts)

    is_dir = exists


class TestCpu:
    """Section ``cpu``."""

    def test_an_x86_processor(self) -> None:
        facts = capture(RecordedSystem("h100-node"))["stack"]["cpu"]
        assert (facts["vendor"], facts["microarchitecture"], facts["cores"]) == ("GenuineIntel", "6-143", 224)
        assert {"avx512f", "amx_bf16", "fma"} <= set(facts["instruction_sets"])
        assert facts["instruction_sets"] == sorted(facts["instruction_sets"])
        assert "hypervisor" not in facts["instruction_sets"]
        assert facts["torch_capability"] == {"unread": "not-loaded"}

    def test_an_arm_processor(self) -> None:
        facts = capture(RecordedSystem("arm-node"))["stack"]["cpu"]
        assert (facts["architecture"], facts["vendor"], facts["microarchitecture"]) == (
            "aarch64", "arm-0x41", "0x41-0xd4f")
        assert "sve2" in facts["instruction_sets"]
        assert facts["model"] == "Neoverse-V2"

    def test_this_machine_s_processor_is_the_one_in_its_first_block(self) -> None:
        fields = cpu.first_processor(System().read_text("/proc/cpuinfo", 1 << 16))
        assert fields["processor"] == "0"
        assert capture(System())["stack"]["cpu"]["cores"] == os.cpu_count()

    def test_only_the_first_processor_counts(self) -> None:
        fields = cpu.first_processor("processor\t: 0\nmodel name\t: A\n\nprocessor\t: 1\nmodel name\t: B\nflags\t: x\n")
        assert fields == {"processor": "0", "model name": "A"}

    def test_without_cpuinfo_the_section_is_unread(self) -> None:
        assert capture(Files({}))["stack"]["cpu"]["model"] == {"unread": "not-reported"}

    def test_a_refused_cpuinfo_is_denied(self) -> None:
        assert capture(Files({"/proc/cpuinfo": None}))["stack"]["cpu"]["model"] == {"unread": "denied"}

    @pytest.mark.parametrize(("host", "expected"), [
        ("xeon-sapphire-rapids", ("GenuineIntel", "6-143", {"amx_bf16", "amx_tile", "avx512_fp16", "avx_vnni"})),
        ("micro-vm-epyc", ("AuthenticAMD", "25-1", {"avx2", "fma", "f16c"}))])
    def test_real_processors(self, host: str, expected: tuple[str, str, set[str]]) -> None:
        facts = capture(RecordedSystem(host))["stack"]["cpu"]
        assert (facts["vendor"], facts["microarchitecture"]) == expected[:2]
        assert expected[2] <= set(facts["instruction_sets"])
        assert ("avx512f" in facts["instruction_sets"]) is (host == "xeon-sapphire-rapids")

    @pytest.mark.parametrize(("parts", "kind", "model"), [
        (["0x41-0xd0c"] * 4, "0x41-0xd0c", "Neoverse-N1"), (["0x41-0xd40"], "0x41-0xd40", "Neoverse-V1"),
        (["0x41-0xd49"], "0x41-0xd49", "Neoverse-N2"), (["0xc0-0xac3"], "0xc0-0xac3", "Ampere-1"),
        (["0x41-0xd87"] * 10 + ["0x41-0xd85"] * 10, "0x41-0xd85+0x41-0xd87", "Cortex-X925+Cortex-A725"),
        (["0x61-0x022", "0x61-0x023"], "0x61-0x022+0x61-0x023", {"unread": "not-reported"})],
        ids=["graviton2", "graviton3", "cobalt", "ampere", "gb10-two-kinds", "unnamed"])
    def test_arm_s_parts_have_names_and_unlike_cores_are_all_told(self, parts: list[str], kind: str,
                                                                  model: Any) -> None:
        text = "".join("processor\t: {}\nFeatures\t: fp asimd\nCPU implementer\t: {}\nCPU architecture: 8\n"
                       "CPU variant\t: 0x0\nCPU part\t: {}\nCPU revision\t: 0\n\n".format(index, *part.split("-"))
                       for index, part in enumerate(parts))
        facts = capture(Files({"/proc/cpuinfo": text}))["stack"]["cpu"]
        assert (facts["microarchitecture"], facts["model"]) == (kind, model)
        assert facts["instruction_sets"] == ["asimd"]

    def test_hybrid_x86_cores_share_one_model_and_one_list_of_flags(self) -> None:
        block = ("processor\t: {}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 183\nmodel name\t: 13th Gen"
                 " Intel(R) Core(TM) i9-13900K\nflags\t\t: fpu avx2 fma avx_vnni\n\n")
        facts = capture(Files({"/proc/cpuinfo": "".join(map(block.format, range(32)))}))["stack"]["cpu"]
        assert (facts["microarchitecture"], facts["instruction_sets"]) == ("6-183", ["avx2", "avx_vnni", "fma"])

    @pytest.mark.parametrize("text", ["", "processor\t: 0\nhart\t: 1\nisa\t: rv64imafdcv\n\n",
                                      "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n\n"],
                             ids=["empty", "risc-v", "power"])
    def test_a_processor_of_another_kind_is_unread_not_guessed(self, text: str) -> None:
        facts = capture(Files({"/proc/cpuinfo": text}))["stack"]["cpu"]
        assert facts["vendor"] == facts["microarchitecture"] == facts["instruction_sets"] == {"unread": "not-reported"}

    def test_flags_that_steer_no_dispatch_are_left_out(self) -> None:
        assert cpu.instruction_sets({"flags": "avx2 md_clear flush_l1d arch_capabilities"}) == ["avx2"]


class TestQuota:
    """The CPU quota of the control group, in both versions."""

    @pytest.mark.parametrize(("files", "expected"), [
        ({"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
          "/sys/fs/cgroup/a/cpu.max": "250000 100000\n"}, 2500),
        ({"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "max 100000\n"}, None),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "50000 100000\n"}, 500),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cgroup.procs": ""}, None),
        ({"/proc/self/cgroup": "3:cpu,cpuacct:/docker/x\n", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
          "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, 1500),
        ({"/proc/self/cgroup": "3:cpu:/\n", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
          "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"/proc/self/cgroup": "0::/gone\n"}, {"unread": "not-reported"}),
        ({"/proc/self/cgroup": "4:memory:/\n"}, {"unread": "not-reported"}),
        ({}, {"unread": "not-reported"}),
    ], ids=["v2-parent", "v2-unlimited", "v2-namespace", "v2-root", "v1", "v1-unlimited", "hidden", "no-cpu",
            "nothing"])
    def test_the_tightest_limit_counts(self, files: dict[str, str | None], expected: Any) -> None:
        assert threads.cgroup_limit(Files(files)) == expected

    def test_a_path_that_climbs_out_is_not_followed(self) -> None:
        assert threads.quota_folders("0::/../../etc\n") == ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]

    def test_a_quota_that_is_no_number_leaves_the_section_unread(self) -> None:
        files: dict[str, str | None] = {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "lots\n"}
        assert capture(Files(files))["stack"]["threads"]["cgroup_limit_millicpu"] == {"unread": "failed"}

    def test_effective_counts_are_too_early_and_affinity_is_not(self) -> None:
        facts = capture(RecordedSystem("a100-mig"))["stack"]["threads"]
        assert facts["affinity_count"] == 16
        assert facts["cgroup_limit_millicpu"] == 16000
        assert facts["torch_intraop"] == facts["blas_pools"] == {"unread": "too-early"}

    def test_this_machine_s_affinity(self) -> None:
        assert capture(System())["stack"]["threads"]["affinity_count"] == len(os.sched_getaffinity(0))


class TestSystem:
    """Section ``system``."""

    @pytest.mark.parametrize(("cpuinfo", "vendor", "machine", "expected"), [
        ("flags : fpu sse\n", "Dell Inc.", "x86_64", None), ("flags : fpu hypervisor\n", "QEMU", "x86_64", "kvm"),
        ("flags : fpu hypervisor\n", "VMware, Inc.", "x86_64", "vmware"),
        ("flags : fpu hypervisor\n", "Microsoft Corporation", "x86_64", "hyperv"),
        ("flags : fpu hypervisor\n", "", "x86_64", {"unread": "not-reported"}),
        ("Features : asimd\n", "Unknown", "aarch64", {"unread": "not-reported"})],
        ids=["bare-metal", "kvm", "vmware", "hyperv", "unnamed", "arm"])
    def test_virtualisation(self, cpuinfo: str, vendor: str, machine: str, expected: Any) -> None:
        files: dict[str, str | None] = {"/proc/cpuinfo": cpuinfo, "/sys/class/dmi/id/sys_vendor": vendor}
        assert host.virtualisation(Files(files), machine) == expected

    def test_a_hypervisor_s_clock_names_it(self) -> None:
        path = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
        files: dict[str, str | None] = {"/proc/cpuinfo": "flags : hypervisor\n", path: "tsc kvm-clock acpi_pm\n"}
        assert host.virtualisation(Files(files), "x86_64") == "kvm"

    def test_a_small_machine_without_dmi_is_known_by_its_clock(self) -> None:
        system = capture(RecordedSystem("micro-vm-epyc"))["stack"]["system"]
        assert (system["virtualisation"], system["os_name"]) == ("kvm", "Debian GNU/Linux 12 (bookworm)")

    @pytest.mark.parametrize("text", [
        "<key>ProductName</key>\n<string>macOS</string>\n", "<plist>", "bplist00\x00\x01", "",
        "<key>ProductVersion</key>\n<key>ProductName</key>\n<string>macOS</string>\n"])
    def test_a_property_list_that_lacks_name_or_version_names_nothing(self, text: str) -> None:
        path = "/System/Library/CoreServices/SystemVersion.plist"
        assert host.os_name(Files({path: text})) == {"unread": "not-reported"}

    def test_without_a_release_file_the_name_is_not_reported(self) -> None:
        assert host.os_name(Files({})) == {"unread": "not-reported"}

    def test_the_second_release_file_counts_when_the_first_is_missing(self) -> None:
        assert host.os_name(Files({"/usr/lib/os-release": "ID=x\nPRETTY_NAME='X 1'\n"})) == "X 1"

    @pytest.mark.parametrize(("seconds", "text"), [(0, "+00:00"), (19800, "+05:30"), (-12600, "-03:30")])
    def test_offsets(self, seconds: int, text: str) -> None:
        assert host.offset_text(seconds) == text

    @pytest.mark.parametrize(("name", "expected"), [("utf8", "UTF-8"), ("UTF-8", "UTF-8"), ("ansi_x3.4-1968",
                                                                                           "ANSI_X3.4-1968")])
    def test_one_spelling_of_encodings(self, name: str, expected: str) -> None:
        assert host.encoding_name(name) == expected


class TestContainer:
    """Section ``container``."""

    @pytest.mark.parametrize(("files", "environ", "engine"), [
        ({"/.dockerenv": ""}, {}, "docker"), ({"/run/.containerenv": ""}, {}, "podman"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({}, {"APPTAINER_CONTAINER": "/images/x.sif"}, "apptainer"),
        ({"/.singularity.d/runscript": ""}, {}, "apptainer"),
        ({}, {"ENROOT_ROOTFS": "/x"}, "enroot"),
        ({"/proc/1/cgroup": "0::/kubepods/pod1\n", "/proc/self/mountinfo": ""}, {}, "kubernetes"),
        ({"/proc/1/cgroup": "0::/\n", "/proc/self/mountinfo": "1 0 0:5 / / rw - overlay o rw\n"}, {},
         {"unread": "not-reported"}),
        ({"/proc/1/cgroup": "0::/\n", "/proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"}, {}, None),
        ({"/proc/1/cgroup": None}, {}, {"unread": "not-reported"}),
    ], ids=["docker", "podman", "kubernetes", "apptainer", "singularity-files", "enroot", "by-group", "overlay", "host",
            "hidden"])
    def test_the_engine_by_its_marks(self, files: dict[str, str | None], environ: dict[str, str], engine: Any) -> None:
        assert container.find_engine(Files(files, **environ)) == engine

    def test_outside_a_container_there_is_surely_no_image(self) -> None:
        assert set(capture(RecordedSystem("h100-node"))["stack"]["container"].values()) == {None}

    def test_a_malformed_claim_is_not_taken(self) -> None:
        document = capture(RecordedSystem("cpu-container", REPRO_ENV_IMAGE_DIGEST="latest"))
        assert document["stack"]["container"]["image_digest"] == {"unread": "not-reported"}
        assert document["capture"]["errors"][0]["path"] == "container.image_digest"
