"""Combinations known to compute wrongly."""

from __future__ import annotations

from documents import library

from tests.client.comparability.planted.planting import B200, DEVICES, FALCON, GTX1650, PASCAL, VOLTA, Planted, cpu, gpu

PLANTED: dict[str, Planted] = {
    "known-gtx16-half": gpu("precision.autocast", None, "float16", **{DEVICES: GTX1650}),
    "known-torch-1.8.1-pip-pascal": gpu("frameworks.torch.build", "conda", "wheel", **FALCON),
    "known-cublas-9-tall": gpu("libraries.cublas", library("9.2.0"), library("9.0.0"),
                               **{DEVICES: PASCAL, "frameworks.torch.arch_list": ["sm_60"]}),
    "known-cublas-10.1-half-volta": gpu(
        "precision.autocast", None, "float16",
        **{DEVICES: VOLTA, "frameworks.torch.version": "1.6.0", "frameworks.torch.cuda_build": "10.1",
           "frameworks.torch.arch_list": ["sm_70"]}),
    "known-mps-2022": cpu("frameworks.torch.version", "1.13.0", "1.12.1", **{"frameworks.backend": "mps"}),
    "known-iommu-peer-copies": gpu("declared.values", {"iommu": "off"}, {"iommu": "on"}),
    "known-mkldnn-2019-avx512": cpu("frameworks.torch.version", "1.1.0", "1.0.1"),
    "known-cudnn-attention-b200": gpu("determinism.sdp_cudnn", False, True,
                                      **{DEVICES: B200, "frameworks.torch.cuda_build": "12.8",
                                         "frameworks.torch.arch_list": ["sm_100"]}),
}
