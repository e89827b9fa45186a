"""Rules on devices, drivers, libraries and collectives: what acts is judged, and what was not read never helps."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document, framework, h100, library
from strategies import erase, fact_paths

from repro_env.comparability.judge import Found, judge, three_ends
from repro_env.comparability.levels import Level, Question, Scope
from repro_env.comparability.policy import NO_POLICY, Levels
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules import (
    accelerators,
    amd,
    apple,
    collectives,
    driver,
    libraries,
    vendor_choices,
)
from repro_env.comparability.vector import Entry, entry
from repro_env.comparability.verdict import Verdict
from tests.client.comparability.planted.devices import AMD, M2, MAC, MI300X, RADEON, RX7900
from tests.client.comparability.planted.planting import DEVICES, NCCL, cards

A100 = h100(name="NVIDIA A100-SXM4-80GB", compute_capability="8.0", sm_count=108)
TORCH_AWAY = {"frameworks.torch.imported": False}


def judged(left: dict[str, Any], right: dict[str, Any], vantage: str = "process", machine: str = "h100",
           question: Question = Question.COMPARE) -> Verdict:
    base = complete_document(vantage, machine=machine)
    return judge(Facts.of(change(base, **left)), Facts.of(change(base, **right)), question=question)


def causes(verdict: Verdict) -> set[str]:
    return {reason.rule for reason in verdict.reasons}


class TestNativeCode:
    """The driver counts where it compiles."""

    DRIVERS = ({"driver.user_libcuda": "550.54.15", "driver.kernel_module": "550.54.15"},
               {"driver.user_libcuda": "575.51.03", "driver.kernel_module": "575.51.03"})

    @pytest.mark.parametrize(("capability", "targets", "compiles"), [
        ("9.0", ["sm_90"], False), ("9.0", ["sm_80", "compute_90"], True), ("8.9", ["sm_86"], False),
        ("8.6", ["sm_89", "compute_80"], True), ("9.0", ["sm_90a"], False), ("10.3", ["sm_100", "compute_100"], False),
        ("10.3", ["sm_100a", "compute_100"], True), ("10.3", ["sm_100f"], False), ("12.1", ["sm_120"], False),
        ("12.0", ["sm_90", "compute_90"], True), ("7.5", ["sm_70"], False)])
    def test_machine_code_of_the_same_major_capability_needs_no_compiler(
            self, capability: str, targets: list[str], *, compiles: bool) -> None:
        common = {DEVICES: cards(compute_capability=capability, name="NVIDIA Unnamed"),
                  "frameworks.torch.arch_list": targets, "frameworks.torch.cuda_build": "13.0"}
        left, right = ({**common, **driver} for driver in self.DRIVERS)
        assert ("driver-compiles" in causes(judged(left, right))) is compiles

    def test_ptx_of_an_exact_target_is_compiled_for_no_other_gpu(self) -> None:
        facts = {DEVICES: cards(compute_capability="10.0", name="NVIDIA B200", sm_count=148),
                 "frameworks.torch.arch_list": ["sm_90", "compute_90a"], "frameworks.torch.cuda_build": "12.8"}
        assert "arch-not-in-build" in causes(judged(facts, facts))

    def test_forced_compilation_makes_the_driver_count(self) -> None:
        left, right = ({"variables.values.CUDA_FORCE_PTX_JIT": "1", **driver} for driver in self.DRIVERS)
        assert causes(judged(left, right)) == {"driver-compiles"}

    def test_tensorflow_with_ptx_for_this_gpu_leaves_it_to_the_driver(self) -> None:
        common = {**TORCH_AWAY, "determinism.tensorflow_op_determinism": True, "precision.tensorflow_tf32": False,
                  "precision.tensorflow_policy": "float32",
                  "frameworks.tensorflow": framework("2.15.0", arch_list=["sm_60", "sm_80", "compute_80"])}
        left, right = ({**common, **driver} for driver in self.DRIVERS)
        assert "driver-compiles" in causes(judged(left, right))

    def test_xla_leaves_it_to_the_driver_only_where_it_was_allowed_to(self) -> None:
        common = {**TORCH_AWAY, "determinism.xla_deterministic": True,
                  "frameworks.jax": framework("0.5.3", arch_list=None)}
        flag = {"variables.values.XLA_FLAGS": "--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found=true"}
        for further, compiles in (({}, False), (flag, True)):
            left, right = ({**common, **further, **driver} for driver in self.DRIVERS)
            assert ("driver-compiles" in causes(judged(left, right))) is compiles

    def test_forward_compatibility_library_is_silent_with_native_code(self) -> None:
        verdict = judged({}, {"driver.compat": True, "driver.user_libcuda": "575.51.03"})
        assert (verdict.guaranteed, verdict.reasons) == (Level.BITWISE, ())

    def test_device_of_unknown_target_is_not_taken_for_one_with_native_code(self) -> None:
        nameless = {DEVICES: cards(name={"unread": "denied"}, compute_capability={"unread": "denied"})}
        left, right = ({**nameless, **driver} for driver in self.DRIVERS)
        assert "driver-compiles" in {row.rule for row in judged(left, right).assumes}

    def test_amd_target_is_the_one_that_the_variable_tells(self) -> None:
        card = {**RX7900, "name": "AMD Radeon RX 6700 XT", "gfx_target": "gfx1031"}
        facts = {**AMD, DEVICES: [card], "frameworks.torch.arch_list": ["gfx1030"]}
        told = {**facts, "variables.values.HSA_OVERRIDE_GFX_VERSION": "10.3.0"}
        assert "arch-not-in-build" in causes(judged(facts, facts))
        assert "arch-not-in-build" not in causes(judged(told, told))

    def test_code_for_a_family_of_amd_devices_counts(self) -> None:
        facts = {**AMD, DEVICES: [RX7900], "frameworks.torch.arch_list": ["gfx11-generic"]}
        assert "arch-not-in-build" not in causes(judged(facts, facts))


class TestRandomNumbers:
    """One seed gives the same numbers as long as a draw fits the grid of both GPUs."""

    H100_PCIE = cards(sm_count=114, name="NVIDIA H100 PCIe", form_factor="PCIe")

    @pytest.mark.parametrize(("draw", "differs"), [(114 * 2048, False), (114 * 2048 + 1, True), (132 * 2048 + 1, True),
                                                   (0, False), (None, False)])
    def test_draws_up_to_the_smaller_grid_are_equal(self, draw: int | None, *, differs: bool) -> None:
        verdict = judged({DEVICES: cards(), "random.largest_cuda_draw": draw},
                         {DEVICES: self.H100_PCIE, "random.largest_cuda_draw": draw})
        assert ("rng-launch-geometry" in causes(verdict)) is differs

    def test_grid_is_whole_blocks_of_256_threads(self) -> None:
        """Reported: T4 and L4 part at the 40961st number."""
        t4, l4 = cards(name="Tesla T4", compute_capability="7.5", sm_count=40, threads_per_sm=1024), cards(
            name="NVIDIA L4", compute_capability="8.9", sm_count=58, threads_per_sm=1536)
        for draw, differs in ((40960, False), (40961, True)):
            verdict = judged({DEVICES: t4, "random.largest_cuda_draw": draw},
                             {DEVICES: l4, "random.largest_cuda_draw": draw})
            assert ("rng-launch-geometry" in causes(verdict)) is differs

    def test_unread_draw_of_equal_gpus_stays_guaranteed(self) -> None:
        unread = {"random.largest_cuda_draw": {"unread": "not-reported"}}
        assert judged(unread, unread).guaranteed is Level.BITWISE

    def test_unread_draw_of_unlike_gpus_lowers_what_is_guaranteed_alone(self) -> None:
        unread = {"random.largest_cuda_draw": {"unread": "not-reported"}}
        verdict = judged({DEVICES: cards(), **unread}, {DEVICES: self.H100_PCIE, **unread})
        assert (verdict.guaranteed, verdict.expected) == (Level.STATISTICAL, Level.CURVE)

    def test_generators_that_count_elements_have_no_grid(self) -> None:
        jax = {**TORCH_AWAY, "determinism.xla_deterministic": True, "random.largest_cuda_draw": 10**7,
               "frameworks.jax": framework("0.5.3", arch_list=None)}
        assert "rng-launch-geometry" not in causes(judged({DEVICES: cards(), **jax}, {DEVICES: self.H100_PCIE, **jax}))


class TestKindsOfDevices:
    """Architecture, size and which device it was."""

    def test_rdna_units_count_the_same_in_pairs_and_one_by_one(self) -> None:
        by_driver = {**RADEON, DEVICES: [{**RX7900, "sm_count": 96, "threads_per_sm": 1024}]}
        assert judged(RADEON, by_driver).reasons == ()

    def test_apple_chips_are_told_apart_by_generation_and_cores(self) -> None:
        m3 = {**MAC, DEVICES: [{**M2, "name": "Apple M3"}]}
        more = {**MAC, DEVICES: [{**M2, "sm_count": 8}]}
        assert "gpu-architecture" in causes(judged(MAC, m3))
        assert "gpu-sm-count" in causes(judged(MAC, more))
        assert "gpu-architecture" not in {row.rule for row in judged(MAC, MAC).assumes}

    def test_process_that_reaches_two_kinds_is_not_comparable_bit_by_bit_with_itself(self) -> None:
        both = {DEVICES: [h100(), A100]}
        verdict = judged(both, both)
        assert (verdict.guaranteed, verdict.expected) == (Level.STATISTICAL, Level.BITWISE)
        assert causes(verdict) == {"mixed-devices"}

    def test_graphics_of_the_processor_are_no_second_kind_beside_a_card_of_another_maker(self) -> None:
        desktop = {DEVICES: [h100(), {**RX7900, "name": "AMD Radeon Graphics", "gfx_target": "gfx1036", "sm_count": 1}]}
        assert "mixed-devices" not in causes(judged(desktop, desktop))
        assert "mixed-devices" not in causes(judged(desktop, desktop, "prologue"))
        for vantage in ("process", "prologue"):
            without = judged({DEVICES: [h100()]}, desktop, vantage)
            assert (without.guaranteed, without.reasons) == (Level.BITWISE, ())

    def test_slices_of_unlike_profiles_are_two_kinds(self) -> None:
        both = {DEVICES: cards(mig_profile="3g.40gb", sm_count=60) + cards(mig_profile="1g.10gb", sm_count=16)}
        assert "mixed-devices" in causes(judged(both, both))

    def test_program_on_the_cpu_does_not_care_about_idle_devices(self) -> None:
        both = {DEVICES: [h100(), A100]}
        assert judged(both, both, machine="cpu").guaranteed is Level.BITWISE

    def test_stated_fault_of_a_device_makes_a_run_no_reference(self) -> None:
        for words, fails in (({"uncorrected-errors": "0"}, False), ({"xid": "none"}, False), ({"xid": "79"}, True)):
            stated = {"declared.values": words}
            assert ("device-fault" in causes(judged(stated, stated))) is fails


class TestLoadedLibraries:
    """What is loaded acts, not what is installed."""

    def test_other_file_installed_and_the_same_loaded_is_no_other_version(self) -> None:
        verdict = judged({}, {"libraries.cudnn.installed": "9.5.0"})
        assert "cudnn-installed" not in causes(verdict)

    def test_what_a_process_loaded_is_held_against_what_an_image_has_installed(self) -> None:
        process = Facts.of(complete_document(machine="h100", **{"libraries.cudnn.installed": "9.5.0"}))
        image = Facts.of(complete_document("image", machine="h100"))
        assert judge(process, image).guaranteed is Level.BITWISE

    def test_version_that_torch_was_compiled_against_decides_what_is_too_old(self) -> None:
        newer_installed = {"libraries.cudnn": {**library("9.1.0"), "installed": "9.5.0"}}
        assert "cudnn-wrong" not in causes(judged({}, newer_installed))

    def test_parts_of_several_versions_are_a_conflict(self) -> None:
        verdict = judged({}, {"libraries.cudnn.loaded": "9.1.0, 9.5.0"})
        assert "library-conflicts" in causes(verdict)

    @pytest.mark.parametrize(("facts", "acts"), [
        ({}, True), ({"frameworks.torch.version": "2.9.1"}, False), ({"determinism.sdp_cudnn": False}, False),
        ({"determinism.deterministic_algorithms": True}, False), ({DEVICES: [A100]}, False),
        ({"variables.values.TORCH_CUDNN_SDPA_DEPRIORITIZED": "1"}, False)])
    def test_loaded_cudnn_moves_attention_only_where_torch_looks_at_it(self, facts: dict[str, Any], *, acts: bool
                                                                       ) -> None:
        common = {"frameworks.torch.version": "2.13.0", "determinism.deterministic_algorithms": False, **facts}
        verdict = judged({**common, "libraries.cudnn": library("9.13.0")},
                         {**common, "libraries.cudnn": library("9.19.0")})
        assert ("cudnn-attention-gate" in causes(verdict)) is acts

    def test_triton_counts_by_curve_only_where_kernels_were_generated(self) -> None:
        left, right = ({"libraries.triton": library(version)} for version in ("3.1.0", "3.3.1"))
        assert judged(left, right).expected is Level.BITWISE
        generated = {"determinism.inductor": {"max_autotune": "false"}}
        assert judged({**left, **generated}, {**right, **generated}).expected is Level.CURVE


class TestCollectives:
    """Ranks that exchange numbers, and whether they do."""

    @pytest.mark.parametrize("facts", [{"collectives.backend": None}, {**NCCL, "layout.world_size": 1}])
    def test_a_single_rank_exchanges_nothing(self, facts: dict[str, Any]) -> None:
        verdict = judged({**facts, "collectives.algorithm": "Ring", "accelerators.links": ["pcie x 28"]},
                         {**facts, "collectives.algorithm": "Tree", "libraries.nccl": library("2.19.3"),
                          "collectives.nvls": True})
        assert (verdict.guaranteed, verdict.reasons) == (Level.BITWISE, ())

    def test_settings_of_nccl_do_nothing_to_gloo(self) -> None:
        gloo = {"collectives.backend": "gloo", "layout.world_size": 2, "collectives.topology": "one node",
                "collectives.nvls": False}
        other = {"collectives.algorithm": "Tree", "variables.values.NCCL_BUFFSIZE": "8388608",
                 "libraries.nccl": library("2.19.3")}
        assert judged(gloo, {**gloo, **other}).reasons == ()

    def test_links_count_among_ranks_and_are_ignored_by_one(self) -> None:
        pcie = {"accelerators.links": ["pcie x 28"], "accelerators.interconnect": "pcie"}
        several = judged(NCCL, {**NCCL, **pcie})
        assert several.reasons[0].cause == "collective_topology"
        one = judge(*(Facts.of(complete_document(machine="h100", **facts)) for facts in ({}, pcie)))
        assert one.reasons == ()
        assert {"accelerators.links", "accelerators.interconnect"} <= {row.path for row in one.ignored}

    @pytest.mark.parametrize(("facts", "state"), [
        ({}, "fails"), ({"collectives.algorithm": "Ring"}, "holds"), ({"collectives.algorithm": "^NVLS"}, "holds"),
        ({"collectives.algorithm": "^Tree"}, "fails"), ({"collectives.algorithm": "Ring,NVLS"}, "fails"),
        ({"collectives.algorithm": "allreduce:ring"}, "fails"),
        ({"collectives.algorithm": "Ring;allreduce:tree"}, "holds"),
        ({"collectives.algorithm": "Ring;reducescatter:^tree"}, "fails"), ({DEVICES: [A100]}, "holds"),
        ({"collectives.nvls": False}, "holds"), ({"collectives.nvls": {"unread": "not-reported"}}, "open"),
        ({"frameworks.torch.version": "2.9.0"}, "open"),
        ({"frameworks.torch.version": "2.9.0", "determinism.deterministic_algorithms": False}, "fails")])
    def test_sums_in_the_switch_fail_only_where_nothing_keeps_them_out(self, facts: dict[str, Any], state: str) -> None:
        side = {**NCCL, "collectives.nvls": True, **facts}
        verdict = judged(side, side)
        found = "fails" if "nvls" in causes(verdict) else "open" if "nvls" in {
            row.rule for row in verdict.assumes} else "holds"
        assert found == state

    def test_jax_alone_on_one_device_is_asked_for_no_group(self) -> None:
        jax = {**TORCH_AWAY, "determinism.xla_deterministic": True, "layout.jax_devices": 1,
               "collectives.backend": {"unread": "not-reported"}, "frameworks.jax": framework("0.5.3", arch_list=None)}
        rules = {row.rule for row in judged(jax, jax).assumes}
        assert not {"collective-backend", "collective-topology", "nvls", "nccl-loaded"} & rules

    @pytest.mark.parametrize(("facts", "asked"), [
        ({DEVICES: [h100()]}, False), ({DEVICES: [h100(), h100()]}, True),
        ({DEVICES: [h100()], "layout.world_size": 2}, True),
        ({DEVICES: [h100()], "layout.world_size": {"unread": "not-reported"}}, True),
        ({"frameworks.backend": "cpu"}, False)])
    def test_tensorflow_with_one_device_and_one_rank_is_asked_for_no_group(self, facts: dict[str, Any], *, asked: bool
                                                                           ) -> None:
        side = {**TORCH_AWAY, "determinism.tensorflow_op_determinism": True, "precision.tensorflow_tf32": False,
                "precision.tensorflow_policy": "float32", "frameworks.tensorflow": framework("2.15.0"),
                "collectives.backend": {"unread": "not-reported"}, **facts}
        assert ("collective-backend" in {row.rule for row in judged(side, side).assumes}) is asked

    def test_links_of_a_stack_are_asked_for_its_ranks(self) -> None:
        unknown = {"layout.world_size": {"unread": "too-early"}}
        verdict = judged(unknown, {**unknown, "accelerators.links": ["pcie x 28"]}, "prologue")
        assert verdict.reasons == ()
        assert verdict.guaranteed is Level.BITWISE


class TestOtherVendors:
    """AMD and Apple."""

    def test_tf32_on_amd_needs_variable_switch_and_units(self) -> None:
        on = {"variables.values.HIPBLASLT_ALLOW_TF32": "1", "precision.allow_tf32_matmul": True}
        for facts in ({**AMD, "precision.allow_tf32_matmul": True},
                      {**AMD, "variables.values.HIPBLASLT_ALLOW_TF32": "1"}, {**RADEON, **on}):
            assert "rocm-tf32" not in causes(judged({**AMD, DEVICES: facts[DEVICES]}, facts))
        assert "rocm-tf32" in causes(judged(AMD, {**AMD, **on}))

    def test_newer_torch_says_by_its_switch_alone_whether_products_are_tf32_on_amd(self) -> None:
        newer = {**AMD, "frameworks.torch": framework("2.9.0+rocm6.4", rocm_build="6.4", arch_list=["gfx942"])}
        assert "rocm-tf32" in causes(judged(newer, {**newer, "precision.allow_tf32_matmul": True}))
        asked = {"variables.values.HIPBLASLT_ALLOW_TF32": "1"}
        assert "rocm-tf32" not in causes(judged(newer, {**newer, **asked}))

    def test_attention_by_composable_kernel_is_a_hole_of_strict_mode(self) -> None:
        asked = {**AMD, "variables.values.TORCH_ROCM_FA_PREFER_CK": "1"}
        assert "rocm-strict-holes" in causes(judged(asked, asked))
        without = {**asked, "determinism.sdp_mem_efficient": False}
        assert "rocm-strict-holes" not in causes(judged(without, without))

    @pytest.mark.parametrize(("version", "facts", "searches"), [
        ("2.8.0", {}, False), ("2.9.0", {}, True), ("2.9.0", {"variables.values.MIOPEN_FIND_MODE": "fast"}, False),
        ("2.8.0", {"determinism.deterministic_algorithms": False, "determinism.cudnn_deterministic": False}, True),
        ("2.8.0", {"determinism.cudnn_benchmark": True}, True), ("2.9.0", {"determinism.cudnn_enabled": False}, False)])
    def test_miopen_searches_unless_it_is_told_not_to(self, version: str, facts: dict[str, Any], *, searches: bool
                                                      ) -> None:
        torch = framework(f"{version}+rocm6.2", rocm_build="6.2", arch_list=["gfx942"])
        side = {**AMD, "frameworks.torch": torch, **facts}
        assert ("miopen-search" in causes(judged(side, side))) is searches

    def test_fused_attention_needs_no_variable_on_data_centre_devices(self) -> None:
        asked = {"variables.values.TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL": "1"}
        assert "rocm-fused-attention" not in causes(judged(AMD, {**AMD, **asked}))
        assert "rocm-fused-attention" in causes(judged(RADEON, {**RADEON, **asked}))

    def test_strict_mode_needs_no_workspace_of_cublas_on_amd(self) -> None:
        unset = {"variables.values.CUBLAS_WORKSPACE_CONFIG": None, "determinism.cublas_workspace": None}
        assert "workspace-unset" in causes(judged(unset, unset))
        assert "workspace-unset" not in causes(judged({**AMD, **unset}, {**AMD, **unset}))

    def test_amdgpu_module_compiles_nothing(self) -> None:
        verdict = judged({**AMD, "driver.kernel_module": "6.7.0", "driver.user_libcuda": None},
                         {**AMD, "driver.kernel_module": "6.12.12", "driver.user_libcuda": None})
        assert "driver-compiles" not in causes(verdict)

    def test_macos_release_counts_on_its_gpu_alone(self) -> None:
        left, right = {"system.os_name": "macOS 14.5"}, {"system.os_name": "macOS 15.1"}
        assert "macos-release" in causes(judged({**MAC, **left}, {**MAC, **right}))
        assert judged(left, right, machine="cpu").reasons == ()

    def test_strict_mode_does_not_make_mps_repeat(self) -> None:
        assert judged(MAC, MAC).guaranteed is Level.CURVE


SIDES: dict[str, dict[str, Any]] = {
    "graphics too": {DEVICES: [h100(), {**RX7900, "name": "AMD Radeon Graphics", "gfx_target": "gfx1036"}]},
    "several ranks": {**NCCL, "collectives.nvls": True, "collectives.topology": "one node"},
    "amd": {**AMD, "precision.allow_tf32_matmul": True, "variables.values.HIPBLASLT_ALLOW_TF32": "1"},
    "radeon": RADEON, "apple": MAC, "two kinds": {DEVICES: [h100(), A100]},
    "ptx": {"frameworks.torch.arch_list": ["sm_80", "compute_80"]},
    "newer torch": {"frameworks.torch.version": "2.13.0", "libraries.cudnn": library("9.19.0"),
                    "determinism.deterministic_algorithms": False},
}
OTHER: dict[str, dict[str, Any]] = {
    "graphics too": {DEVICES: [h100(sm_count=114)]},
    "several ranks": {"collectives.algorithm": "Ring", "accelerators.links": ["pcie x 28"]},
    "amd": {DEVICES: [MI300X, {**MI300X, "sm_count": 80}]}, "radeon": {DEVICES: [{**RX7900, "sm_count": 30}]},
    "apple": {"system.os_name": "macOS 15.1"}, "two kinds": {DEVICES: [h100()]},
    "ptx": {"driver.user_libcuda": "575.51.03"}, "newer torch": {"libraries.cudnn": library("9.13.0")},
}
#: what these rules read; of the variables one stands for all.
READ = ("accelerators", "collectives", "declared", "determinism.det", "determinism.inductor", "determinism.sdp_cudnn",
        "determinism.warn_only", "driver", "frameworks.backend", "frameworks.torch", "layout.world_size",
        "libraries.cublas", "libraries.cudnn", "libraries.nccl", "precision.allow_tf32_matmul",
        "random.largest_cuda_draw", "system.os_name", "variables.values.HIPBLASLT_ALLOW_TF32")
MODULES = (accelerators, amd, apple, collectives, driver, libraries, vendor_choices)
OF_DEVICES = [rule for module in MODULES for name in ("WRONG", "BUILD", "BACKENDS", "RULES")
              for rule in getattr(module, name, ())]


def ends(left: Facts, entries: list[Entry], scope: Scope) -> Levels:
    """Return what the rules of these modules alone leave of a pair whose right side has these entries."""
    found = [Found(rule, NO_POLICY.levels_of(rule), entry(rule, left), other)
             for rule, other in zip(OF_DEVICES, entries, strict=True)]
    return three_ends(found, scope)


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("vantage", ["process", "import"])
def test_an_erased_fact_never_raises_the_guarantee_and_never_lowers_the_other_ends(name: str, vantage: str) -> None:
    base = complete_document(vantage, machine="h100", **SIDES[name])
    whole = Facts.of(base)
    for other in (base, change(base, **OTHER[name])):
        entries = [entry(rule, Facts.of(other)) for rule in OF_DEVICES]
        before = ends(whole, entries, whole.scope)
        for path in filter(lambda name: name.startswith(READ), fact_paths(base)):
            after = ends(Facts.of(erase(base, {path: "denied"})), entries, whole.scope)
            assert after.expected >= before.expected, path
            assert after.possible >= before.possible, path
            assert vantage != "process" or after.guaranteed <= before.guaranteed, path
