"""Facts of one side that cannot all be true."""

from __future__ import annotations

from documents import library

from tests.client.comparability.planted.planting import DEVICES, Planted, cards, gpu

#: a process that computed shows that its driver served it.
FROM_OUTSIDE = frozenset(("driver-too-old", "driver-older-than-gpu"))
PLANTED: dict[str, Planted] = {
    "gpu-name-contradiction": gpu(DEVICES, cards(), cards(name="NVIDIA A100-SXM4-80GB", sm_count=108)),
    "torch-label-contradiction": gpu("frameworks.torch.version", "2.5.1+cu124", "2.5.1+cu121"),
    "torch-cudnn-contradiction": gpu("frameworks.torch.version", "2.3.1+cu121", "2.4.1+cu121",
                                     **{"frameworks.torch.cuda_build": "12.1", "libraries.cudnn": library("8.9.7"),
                                        "frameworks.numpy.version": "1.26.4"}),
    "driver-too-old": gpu("driver.kernel_module", "550.54.15", "515.65.01"),
    "driver-older-than-gpu": gpu("driver.kernel_module", "525.60.13", "470.57.02",
                                 **{"frameworks.torch.version": "2.1.0+cu118", "frameworks.torch.cuda_build": "11.8",
                                    "frameworks.numpy.version": "1.26.4", "libraries.cudnn": library("8.7.0")}),
    "build-for-another-maker": gpu("frameworks.torch.rocm_build", None, "6.2"),
    "backend-without-device": gpu(DEVICES, cards(), None),
    "torch-numpy-contradiction": gpu("frameworks.numpy.version", "1.26.4", "2.0.1",
                                     **{"frameworks.torch.version": "2.2.2+cu121", "libraries.cudnn": library("8.9.7"),
                                        "frameworks.torch.cuda_build": "12.1"}),
}
