"""Sections of the stack that the machine sets: accelerators, driver, cpu, system, container."""

from __future__ import annotations

from dataclasses import dataclass

from .field import Fact, fact


@dataclass(frozen=True)
class Accelerator:
    """One device. A node's devices are a multiset: order, index and uuid belong to ``capture``."""

    vendor: Fact[str] = fact("maker: nvidia, amd, apple, intel", source="nvml, sysfs, nvidia-smi", example="nvidia")
    name: Fact[str] = fact("marketing name as the vendor's tool prints it", source="nvml, nvidia-smi",
                           example="NVIDIA H100 80GB HBM3")
    compute_capability: Fact[str] = fact("CUDA compute capability, major.minor", source="nvml, torch", example="9.0")
    gfx_target: Fact[str] = fact("AMD instruction set target", source="sysfs, rocminfo, torch", example="gfx942")
    sm_count: Fact[int] = fact(
        "streaming multiprocessors (AMD: compute units, Apple: GPU cores) visible to a process",
        source="torch, nvml, sysfs, system_profiler", example=132)
    threads_per_sm: Fact[int] = fact("maximum resident threads of one SM", source="torch, device attribute",
                                     example=2048)
    memory_bytes: Fact[int] = fact("device memory in bytes", source="nvml, nvidia-smi", example=85520809984)
    mig_profile: Fact[str] = fact(
        "slice of a device: MIG profile, or AMD's compute partition mode other than SPX; null for a whole device",
        source="nvml, nvidia-smi, sysfs, torch", example="3g.40gb")
    ecc: Fact[bool] = fact("whether ECC is in force", source="nvml, nvidia-smi, sysfs", example=True)
    form_factor: Fact[str] = fact("SXM, PCIe, OAM, ...", source="name, nvml", example="SXM")


@dataclass(frozen=True)
class Accelerators:
    """The devices a process on this machine can reach, and how they are joined."""

    devices: Fact[tuple[Accelerator, ...]] = fact(
        "devices that a process of this environment can reach, in canonical order; null when there is surely none",
        source="nvml, nvidia-smi, /proc/driver/nvidia, sysfs, system_profiler, torch", example=None)
    interconnect: Fact[str] = fact(
        "strongest link between the node's devices: nvlink, xgmi, pcie; null with one device; masks do not count",
        source="nvml, sysfs", example="nvlink")
    links: Fact[tuple[str, ...]] = fact(
        "how pairs of the node's devices are joined, each kind with its number of pairs, sorted; masks do not count",
        source="nvml, sysfs", example=["nvlink-18 x 28"])


@dataclass(frozen=True)
class Driver:
    """The accelerator driver: kernel module and user-space library are two facts."""

    kernel_module: Fact[str] = fact("version of the loaded kernel driver", source="/proc/driver/nvidia, nvml",
                                    example="550.54.15")
    user_libcuda: Fact[str] = fact("version of the user-space libcuda a process loads",
                                   source="file name of libcuda", example="550.54.15")
    compat: Fact[bool] = fact("whether that libcuda is the forward-compatibility package", source="mapped file",
                              example=False)
    cuda_level: Fact[str] = fact("highest CUDA version the driver supports (nvidia-smi's \"CUDA Version\")",
                                 source="nvml, nvidia-smi", example="12.4")
    kernel_flavour: Fact[str] = fact("open or proprietary kernel module", source="/proc/driver/nvidia/version",
                                     example="open")


@dataclass(frozen=True)
class Cpu:
    """The processor, as far as it steers which kernels numeric libraries choose."""

    architecture: Fact[str] = fact("machine architecture", source="uname", example="x86_64")
    vendor: Fact[str] = fact("vendor identification", source="/proc/cpuinfo", example="GenuineIntel")
    model: Fact[str] = fact("model name", source="/proc/cpuinfo", example="Intel(R) Xeon(R) Platinum 8481C")
    microarchitecture: Fact[str] = fact(
        "family-model of x86, implementer-part of Arm (unlike cores joined by +), cpufamily of Apple silicon",
        source="/proc/cpuinfo, sysctl", example="6-143")
    instruction_sets: Fact[tuple[str, ...]] = fact("instruction sets that steer dispatch, sorted",
                                                   source="/proc/cpuinfo flags", example=["avx2", "avx512f", "fma"])
    cores: Fact[int] = fact("logical processors online", source="/proc/cpuinfo", example=64)
    torch_capability: Fact[str] = fact("kernel level torch dispatches to: DEFAULT, AVX2, AVX512, ...",
                                       source="torch.backends.cpu.get_cpu_capability", example="AVX512")
    numpy_simd: Fact[tuple[str, ...]] = fact("SIMD features NumPy found, sorted", source="numpy show_config",
                                             example=["AVX2", "FMA3"])


@dataclass(frozen=True)
class System:
    """Operating system and the text environment."""

    os_family: Fact[str] = fact("linux, windows, macos", source="uname", example="linux")
    os_name: Fact[str] = fact("pretty name of the distribution", source="/etc/os-release, SystemVersion.plist",
                              example="Ubuntu 22.04.4 LTS")
    kernel: Fact[str] = fact("kernel release", source="uname", example="5.15.0-105-generic")
    libc: Fact[str] = fact("C library and version", source="confstr", example="glibc 2.35")
    virtualisation: Fact[str] = fact("hypervisor as the CPU or DMI tells it, null on bare metal",
                                     source="/proc/cpuinfo, DMI", example="kvm")
    encoding: Fact[str] = fact("preferred text encoding", source="locale", example="UTF-8")
    utc_offset: Fact[str] = fact("offset of local time from UTC at capture", source="time", example="+00:00")


@dataclass(frozen=True)
class Container:
    """The container a process runs in, and how each identity was learned."""

    engine: Fact[str] = fact("docker, podman, containerd, apptainer, enroot, kubernetes, charliecloud, shifter; null "
                             "outside a container", source="marker files, cgroup", example="docker")
    image_reference: Fact[str] = fact("name the image was started by", source="variable, engine",
                                      example="nvcr.io/nvidia/pytorch:24.05-py3")
    image_digest: Fact[str] = fact("manifest digest of the image", source="claimed by launcher, engine",
                                   example="sha256:" + "0" * 64)
    image_key: Fact[str] = fact("repro-env's identity over execution configuration and layers",
                                source="file in the image", example="sha256:" + "0" * 64)
    learned: Fact[str] = fact("how the digest was learned: claimed, engine, file", source="capture",
                              example="claimed")
