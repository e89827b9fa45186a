"""The devices that names are resolved to: architecture, size and memory, by the chip they are made of.

A line is ``target chip SMs-of-the-full-chip | name: SMs [memory in GiB] [form factor] [if WORDS | when WORDS]; ...``
with ``-`` for what a name does not decide. ``if`` words choose among the variants of a name, of which all count where
no word chooses; a row with ``when`` counts only where its words stand (laptop, Max-Q, a rare memory size).

Sources: NVIDIA's list of CUDA GPUs by compute capability; the architecture papers of Kepler to Blackwell for the SMs
of full chips; NVIDIA's product pages for the cores of a product (a SM has 192 cores on Kepler, 64 on P100, Volta,
Turing and A100, else 128); AMD's tables of GPU hardware in the ROCm documentation; Apple's technical specifications.
Seen in ``torch.cuda.get_device_properties`` of public reports: A10G 80, A40 84, B200 148, H20 78, RTX 3080 laptop 48,
RTX 3060 28, RTX A5000 64, GTX 1660 Ti 24, P100 56, H100 PCIe 114, RTX 5080 84, RTX PRO 6000 188, Thor 20, MI300X 304,
MI250X 110.
"""

from __future__ import annotations

NVIDIA = """
3.0 GK107 2 | 650: 2; k600: 1 1; k2000: 2 2
3.0 GK106 5 | 650 ti: 4; 660: 5; k4000: 4 3
3.0 GK104 8 | 670: 7; 680: 8; 690: 8 2; 760: 6; 770: 8; k10: 8 4; k520: 8 4; k4200: 7 4; k5000: 8 4
3.5 GK110 15 | k20: 13 5; k20c: 13 5; k20m: 13 5; k20x: 14 6; k20xm: 14 6; k40: 15 12; k40c: 15 12; k40m: 15 12
3.5 GK110 15 | k6000: 15 12; 780: 12 3; 780 ti: 15 3; gtx titan: 14 6; titan black: 15 6; titan z: 15 6
3.7 GK210 15 | k80: 13 12
5.0 GM107 5 | 745: 3 4; 750: 4; 750 ti: 5 2; 950m: 5; 960m: 5; k620: 3 2; k1200: 4 4; k2200: 5 4; m10: 5 8
5.0 GM108 3 | 830m: 2; 840m: 3; 940m: 3; 940mx: -; mx110: 2 2; mx130: 3 2
5.2 GM206 8 | 950: 6; 960: 8; m4: 8 4; m2000: 6 4
5.2 GM204 16 | 965m: 8; 970: 13 4; 970m: 10; 980: 16 4; 980m: 12; m6: 12 8; m60: 16 8; m4000: 13 8; m5000: 16 8
5.2 GM200 24 | 980 ti: 22 6; m40: 24; titan x: 24 12 if maxwell; gtx titan x: 24 12; m6000: 24
5.3 GM20B 2 | jetson nano: 1 4; tegra x1: 2 4; jetson tx1: 2 4
6.0 GP100 60 | p100: 56; gp100: 56 16
6.1 GP102 30 | 1080 ti: 28 11; titan x: 28 12 if pascal; titan xp: 30 12; p40: 30 24; p6000: 30 24; p102 100: 25 5
6.1 GP104 20 | 1070: 15 8; 1070: 16 8; 1070: 16 8 when max-q; 1070 ti: 19 8; 1080: 20 8; 1080: 20 8 when max-q
6.1 GP104 20 | p4: 20 8; p6: 16 16; p3200: 14 6; p4000: 14 8; p4200: 18 8; p5000: 20 16; p5000: 16 16; p5200: 20 16
6.1 GP104 20 | p104 100: 15
6.1 GP106 10 | 1060: 9 3 if 3gb; 1060: 10 6 if 6gb; 1060: 10 6 when max-q; p106 100: 10 6; p2000: 8 5; p2200: 10 5
6.1 GP106 10 | p3000: 10 6
6.1 GP107 6 | 1050: 5; 1050: 6 3 when 3gb; 1050 ti: 6 4; 1050 ti: 6 4 when max-q; mx350: 5 2; p400: 2 2; p600: 3 2
6.1 GP107 6 | p620: 4; p1000: 5 4; p2000: 6 4
6.1 GP108 3 | 1030: 3 2; mx150: 3; mx230: 2 2; mx250: 3 2; mx330: 3 2; p500: 2 2; p520: 3 2
6.2 GP10B 2 | jetson tx2: 2 8; tegra x2: 2 8
7.0 GV100 84 | v100: 80; v100s: 80 32; titan v: 80 12; gv100: 80 32
7.2 GV11B 8 | xavier: -; agx xavier: 8; xavier nx: 6
7.5 TU102 72 | 2080 ti: 68 11; titan rtx: 72 24; quadro rtx 6000: 72 24; quadro rtx 8000: 72 48; rtx 8000: 72 48
7.5 TU102 72 | rtx 6000: 72 24 if turing
7.5 TU104 48 | 2070 super: 40 8; 2080: 46 8; 2080 super: 48 8; 2070 super: 40 8 when max-q; 2080: 46 8 when max-q
7.5 TU104 48 | 2080 super: 48 8 when max-q; t4: 40 16; t4g: 40 16; quadro rtx 4000: 36 8; quadro rtx 4000: 40 8
7.5 TU104 48 | quadro rtx 4000: 40 8 when max-q; quadro rtx 5000: 48 16; quadro rtx 5000: 48 16 when max-q
7.5 TU106 36 | 2060: 30 6 if 6gb; 2060: 34 12 if 12gb; 2060: 30 6 when max-q; 2060 super: 34 8; 2070: 36 8
7.5 TU106 36 | 2070: 36 8 when max-q; quadro rtx 3000: 30 6; quadro rtx 3000: 30 6 when max-q
7.5 TU116 24 | 1650 super: 20 4; 1660: 22 6; 1660 super: 22 6; 1660 ti: 24 6; 1660 ti: 24 6 when max-q
7.5 TU117 16 | 1630: 8 4; 1650: 14 4; 1650: 16 4; 1650: - 4 when max-q; 1650 ti: 16 4; 1650 ti: 16 4 when max-q
7.5 TU117 16 | mx450: 14 2; mx550: 16 2; t400: 6; t500: 14; t550: 16 4; t600: 10 4; t1000: 14; t1000: 12; t1200: 16 4
7.5 TU117 16 | t2000: 16 4; t2000: 16 4 when max-q
8.0 GA100 128 | a100: 108 40 SXM if sxm 40gb; a100: 108 80 SXM if sxm 80gb; a100: 108 40 PCIe if pcie 40gb
8.0 GA100 128 | a100: 108 80 PCIe if pcie 80gb; a100: 124 64 SXM when sxm 64gb; a100x: 108 80 PCIe; a30: 56 24 PCIe
8.0 GA100 128 | a30x: 56 24 PCIe; a800: 108; cmp 170hx: 70 8
8.6 GA102 84 | 3080: 68 10 if 10gb; 3080: 70 12 if 12gb; 3080 ti: 80 12; 3090: 82 24; 3090 ti: 84 24; a10: 72 24
8.6 GA102 84 | a10g: 80 24; a10m: -; a40: 84 48; a4500: 56 20; a5000: 64 24; a5500: 80 24; a6000: 84 48
8.6 GA103 60 | 3080 ti: 58 16 when laptop; a5500: 58 16 when laptop
8.6 GA104 48 | 3060 ti: 38 8; 3070: 46 8; 3070: 40 8 when laptop; 3070 ti: 48 8; 3070 ti: 46 8 when laptop
8.6 GA104 48 | 3080: 48 when laptop; a3000: 32 when laptop; a4000: 48 16; a4000: 40 8 when laptop
8.6 GA104 48 | a4500: 46 16 when laptop; a5000: 48 16 when laptop
8.6 GA106 30 | 3050: 20 8 if 8gb; 3060: 28; 3060: 30 6 when laptop; a2000: 26; a2000: 20 when laptop
8.6 GA107 20 | 2050: 16 4; 3050: 18 6 if 6gb; 3050: 16 4 when laptop; 3050: 20 6 when 6gb laptop; 3050 ti: 20 4
8.6 GA107 20 | 3050 ti: 20 4 when laptop; a2: 10 16; a16: 10 16; a400: 6 4; a500: 16 4; a500: 16 4 when laptop
8.6 GA107 20 | a1000: 18 8; a1000: 16 when laptop; mx570: 16
8.7 GA10B 16 | orin: -; agx orin: 16 64 if 64gb; agx orin: 14 32 if 32gb; orin nx: 8; orin nano: 8 8 if 8gb
8.7 GA10B 16 | orin nano: 4 4 if 4gb
8.9 AD102 144 | 4090: 128 24; 4090 d: 114 24; 5000 ada: 100 32; 5880 ada: 110 48; rtx 6000 ada: 142 48
8.9 AD102 144 | rtx 6000: 142 48 if ada; l20: 92 48; l40: 142 48; l40g: 142; l40s: 142 48
8.9 AD103 80 | 4070 ti super: 66 16; 4080: 76 16; 4080 super: 80 16; 4090: 76 16 when laptop
8.9 AD103 80 | 5000 ada: 76 16 when laptop
8.9 AD104 60 | 4070: 46 12; 4070 super: 56 12; 4070 ti: 60 12; 4080: 58 12 when laptop; l4: 58 24; 4000 ada: 48 20
8.9 AD104 60 | 4500 ada: 60 24; 3500 ada: 40 12; 3500 ada: 40 12 when laptop; 4000 ada: 58 12 when laptop
8.9 AD106 36 | 4060 ti: 34; 4070: 36 8 when laptop; 3000 ada: 36 8 when laptop
8.9 AD107 24 | 4050: 20 6; 4050: 20 6 when laptop; 4060: 24 8; 4060: 24 8 when laptop; 2000 ada: 22 16; l2: -
8.9 AD107 24 | 2000 ada: 24 8 when laptop; 1000 ada: 20 6 when laptop; 500 ada: 16 4 when laptop
9.0 GH100 144 | h100: 132 80 SXM if sxm; h100: 132 80 SXM if hbm3; h100: 114 80 PCIe if pcie; h100: 132 94 PCIe if nvl
9.0 GH100 144 | h200: 132 141; h800: 132 80 SXM if sxm; h800: 132 80 SXM if hbm3; h800: 114 80 PCIe if pcie
9.0 GH100 144 | h20: 78; gh200: 132
10.0 GB100 160 | b100: -; b200: 148; gb200: 148
10.3 GB110 160 | b300: -; gb300: -
11.0 GB10B 20 | thor: 20 128; thor t4000: 12 64
12.0 GB202 192 | 5090: 170 32; 5090 d: 170; rtx pro 6000: 188 96; rtx pro 6000: 188 96 when max-q; rtx pro 5000: 110
12.0 GB203 84 | 5070 ti: 70 16; 5080: 84 16; 5080: 60 16 when laptop; 5090: 82 24 when laptop; rtx pro 4500: 82 32
12.0 GB203 84 | rtx pro 4000: 70 24; rtx pro 5000: 82 24 when laptop; rtx pro 4000: 60 16 when laptop
12.0 GB205 50 | 5070: 48 12; 5070 ti: 46 12 when laptop; rtx pro 3000: 46 12 when laptop
12.0 GB206 36 | 5060: 30 8; 5060: 26 8 when laptop; 5060 ti: 36; 5070: 36 8 when laptop; rtx pro 2000: 34 16
12.0 GB206 36 | rtx pro 2000: 26 8 when laptop
12.0 GB207 20 | 5050: 20 8; 5050: 20 8 when laptop; rtx pro 1000: 20 8 when laptop; rtx pro 500: 14 6 when laptop
12.1 GB20B 48 | gb10: 48 128
"""
AMD = """
gfx803 | rx 470: 32; rx 480: 36; rx 570: 32; rx 580: 36; rx 590: 36 8; mi6: 36 16; mi8: 64 4; r9 nano: 64 4
gfx900 | mi25: 64 16; vega 56: 56 8; vega 64: 64 8; vega frontier: 64 16
gfx906 | mi50: 60; mi60: 64 32; radeon vii: 60 16; pro vii: 60 16
gfx908 | mi100: 120 32
gfx90a | mi210: 104 64; mi250: 104 64; mi250x: 110 64
gfx942 | mi300a: 228 128; mi300x: 304 192; mi308x: 80 192; mi325x: 304 256
gfx950 | mi350x: 256 288; mi355x: 256 288
gfx1010 | 5600 xt: 36 6; 5700: 36 8; 5700 xt: 40 8; w5700: 36 8
gfx1011 | v520: 36 8
gfx1012 | 5500 xt: 22; w5500: 22 8
gfx1030 | 6800: 60 16; 6800 xt: 72 16; 6900 xt: 80 16; 6950 xt: 80 16; v620: 72 32; w6800: 60 32
gfx1031 | 6700 xt: 40 12; 6750 xt: 40 12
gfx1032 | 6600: 28 8; 6600 xt: 32 8; 6650 xt: 32 8; w6600: 28 8
gfx1034 | 6400: 12 4; 6500 xt: 16
gfx1035 | 660m: 6; 680m: 12
gfx1100 | 7900 gre: 80 16; 7900 xt: 84 20; 7900 xtx: 96 24; w7800: 70; w7900: 96 48
gfx1101 | 7700 xt: 54 12; 7800 xt: 60 16; v710: 54 28; w7700: 48 16
gfx1102 | 7600: 32 8; 7600 xt: 32 16; w7500: 28 8; w7600: 32 8
gfx1103 | 760m: 8; 780m: 12
gfx1150 | 880m: 12; 890m: 16
gfx1151 | 8050s: 32; 8060s: 40
gfx1200 | 9060 xt: 32
gfx1201 | 9070: 56 16; 9070 xt: 64 16; 9070 gre: 48 12; r9700: 64 32
"""
INTEL = """
- | arc a380: -; arc a580: -; arc a750: -; arc a770: -; arc b570: -; arc b580: -; arc pro b60: -; gpu max 1100: -
- | gpu max 1550: -; gpu flex 140: -; gpu flex 170: -
"""
#: chip of Apple -> GPU cores it is sold with.
APPLE = {
    "m1": (7, 8), "m1 pro": (14, 16), "m1 max": (24, 32), "m1 ultra": (48, 64), "m2": (8, 10), "m2 pro": (16, 19),
    "m2 max": (30, 38), "m2 ultra": (60, 76), "m3": (8, 10), "m3 pro": (14, 18), "m3 max": (30, 40),
    "m3 ultra": (60, 80), "m4": (8, 10), "m4 pro": (16, 20), "m4 max": (32, 40),
}

#: compute capability, or beginning of a gfx target -> architecture.
ARCHITECTURES = {
    "3.": "Kepler", "5.": "Maxwell", "6.": "Pascal", "7.0": "Volta", "7.2": "Volta", "7.5": "Turing", "8.9": "Ada",
    "8.": "Ampere", "9.0": "Hopper", "10.": "Blackwell", "11.": "Blackwell", "12.": "Blackwell",
    "gfx803": "GCN", "gfx900": "GCN", "gfx906": "GCN", "gfx908": "CDNA", "gfx90a": "CDNA 2", "gfx942": "CDNA 3",
    "gfx950": "CDNA 4", "gfx101": "RDNA", "gfx103": "RDNA 2", "gfx110": "RDNA 3", "gfx115": "RDNA 3.5",
    "gfx120": "RDNA 4",
}
#: compute capability -> maximum resident threads of one SM (CUDA C++ Programming Guide, technical specifications).
THREADS_PER_SM = {"7.5": 1024, "8.6": 1536, "8.7": 1536, "8.9": 1536, "11.0": 1536, "12.0": 1536, "12.1": 1536}
#: compute capability -> another number of the same chip: Thor was 10.1 before CUDA 13 counted it as 11.0.
RENUMBERED = {"11.0": "10.1"}

#: first words of an instance that a cloud rents -> the device in it (the providers' lists of instance types).
INSTANCES = {
    "p3.": "Tesla V100-SXM2-16GB", "p3dn.": "Tesla V100-SXM2-32GB", "p4d.": "NVIDIA A100-SXM4-40GB",
    "p4de.": "NVIDIA A100-SXM4-80GB", "p5.": "NVIDIA H100 80GB HBM3", "p5e.": "NVIDIA H200", "p5en.": "NVIDIA H200",
    "p6-b200.": "NVIDIA B200", "g4dn.": "Tesla T4", "g5.": "NVIDIA A10G", "g5g.": "NVIDIA T4G", "g6.": "NVIDIA L4",
    "g6e.": "NVIDIA L40S", "a2-highgpu": "NVIDIA A100-SXM4-40GB", "a2-megagpu": "NVIDIA A100-SXM4-40GB",
    "a2-ultragpu": "NVIDIA A100-SXM4-80GB", "a3-highgpu": "NVIDIA H100 80GB HBM3",
    "a3-megagpu": "NVIDIA H100 80GB HBM3", "a3-ultragpu": "NVIDIA H200", "a4-highgpu": "NVIDIA B200",
    "g2-standard": "NVIDIA L4",
}
#: beginning of such a name -> how many devices, by what follows; a size that ends in ``-8g`` says it itself. Sources:
#: AWS's and Google's pages on accelerated machine types.
_SMALL = dict.fromkeys(("xlarge", "2xlarge", "4xlarge", "8xlarge", "16xlarge"), 1)
INSTANCE_SIZES = {
    "p3.": {"2xlarge": 1, "8xlarge": 4, "16xlarge": 8}, "p3dn.": {"24xlarge": 8}, "p4d.": {"24xlarge": 8},
    "p4de.": {"24xlarge": 8}, "p5.": {"4xlarge": 1, "48xlarge": 8}, "p5e.": {"48xlarge": 8}, "p5en.": {"48xlarge": 8},
    "p6-b200.": {"48xlarge": 8}, "g4dn.": {**_SMALL, "12xlarge": 4, "metal": 8},
    "g5.": {**_SMALL, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8}, "g5g.": {**_SMALL, "16xlarge": 2, "metal": 2},
    "g6.": {**_SMALL, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
    "g6e.": {**_SMALL, "12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
    "g2-standard": {"-4": 1, "-8": 1, "-12": 1, "-16": 1, "-32": 1, "-24": 2, "-48": 4, "-96": 8},
}
#: what people say -> what the table calls it.
ALIASES = {"dgx spark": "gb10", "strix halo": "8060s", "a6000 ada": "rtx 6000 ada", "ada 6000": "rtx 6000 ada",
           "gtx titan black": "titan black", "gtx titan z": "titan z"}
