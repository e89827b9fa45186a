/* A stand-in for libnvidia-ml.so.1 with the real names and layouts. NVML_STANDIN in the environment says which machine
 * it plays; -DOLD leaves out much of what came after the 440 series, -DANCIENT what came with 319.
 * Compiled by test_nvml.py. Checked against nvml.h: nvmlPciInfo_t is 16 bytes of text, five integers, 32 bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, DENIED = 4, NOT_FOUND = 6, LOST = 15 };
enum { TO_GPU = 0, TO_SWITCH = 2 };

typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct {
    char busIdLegacy[16];
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;
typedef struct {
    unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount,
        sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

typedef struct {
    const char *name;
    int major, minor;
    unsigned int cores, module, power_w, sm_mhz, memory_mhz;
    unsigned long long memory;
    int ecc, mig; /* value, or -1 where the device has none */
    int links, to; /* NVLinks that are up, and what stands at their other end */
} model;

static const model H100 = {"NVIDIA H100 80GB HBM3", 9, 0, 16896, 1, 700, 1980, 2619, 85520809984ULL, 1, 0, 18, TO_SWITCH};
static const model H200 = {"NVIDIA H200", 9, 0, 16896, 1, 700, 1980, 3201, 150754820096ULL, 1, 0, 18, TO_SWITCH};
static const model H100_NVL = {"NVIDIA H100 NVL", 9, 0, 16896, 0, 400, 1785, 2619, 100485038080ULL, 1, 0, 12, TO_GPU};
static const model A100_PCIE = {"NVIDIA A100-PCIE-40GB", 8, 0, 6912, 0, 250, 1410, 1215, 42949672960ULL, 1, 0, 0, 0};
static const model A100_SXM = {"NVIDIA A100-SXM4-40GB", 8, 0, 6912, 4, 400, 1410, 1215, 42949672960ULL, 1, 1, 12, TO_SWITCH};
static const model RTX_3090 = {"NVIDIA GeForce RTX 3090", 8, 6, 10496, 0, 350, 2100, 9751, 25769803776ULL, -1, -1, 0, 0};
static const model FUTURE = {"NVIDIA X900", 99, 0, 20000, 0, 100, 1000, 1000, 1073741824ULL, 1, 0, 0, 0};

typedef struct { int index, slice; } device;
static device whole[8] = {{0, -1}, {1, -1}, {2, -1}, {3, -1}, {4, -1}, {5, -1}, {6, -1}, {7, -1}};
static device slices[8][2] = {{{0, 0}, {0, 1}}, {{1, 0}, {1, 1}}};

static int is(const char *scenario) {
    const char *played = getenv("NVML_STANDIN");
    return strcmp(played ? played : "h100x2", scenario) == 0;
}
static int starts(const char *scenario) {
    const char *played = getenv("NVML_STANDIN");
    return played && strncmp(played, scenario, strlen(scenario)) == 0;
}
static unsigned int count(void) {
    return starts("h100x8") ? 8 : is("one") || is("one-plain") || is("future") || is("mig-one") ? 1 : 2;
}
static const model *of(const device *d) {
    if (starts("a100-pcie")) return &A100_PCIE;
    if (starts("mig")) return &A100_SXM;
    if (is("mixed")) return d->index ? &A100_PCIE : &RTX_3090;
    if (is("one-plain")) return &RTX_3090;
    if (is("future")) return &FUTURE;
    if (is("h200")) return &H200;
    if (is("nvl")) return &H100_NVL;
    return &H100;
}
static int gone(const device *d) { return is("h100x8-silent") && d->index == 5; }
#define ANSWERS(d) do { if (gone(d)) return LOST; if (is("slow")) usleep(2000); } while (0)

static int start(void) {
    const char *status = getenv("NVML_STANDIN_INIT");
    if (is("hangs")) sleep(60);
    if (is("crashes")) *(volatile int *)0 = 0;
    return status ? atoi(status) : OK;
}
#ifdef ANCIENT
int nvmlInit(void) { return start(); }
#else
int nvmlInit_v2(void) { return start(); }
#endif
int nvmlShutdown(void) { return OK; }
int nvmlSystemGetDriverVersion(char *text, unsigned int size) { snprintf(text, size, "550.54.15"); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    const char *level = getenv("NVML_STANDIN_CUDA");
    *version = level ? atoi(level) : 12040;
    return OK;
}
int nvmlDeviceGetCount_v2(unsigned int *number) { *number = count(); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) {
    if (index >= count()) return INVALID;
    if (is("denied") || (is("h100x8-one-mine") && index != 3)) return DENIED;
    if (is("h100x8-lost") && index == 2) return LOST;
    *handle = &whole[index];
    return OK;
}
int nvmlDeviceGetName(device *d, char *text, unsigned int size) {
    ANSWERS(d);
    snprintf(text, size, d->slice < 0 ? "%s" : "%s MIG %s", of(d)->name, d->slice == 0 ? "3g.20gb" : "1g.5gb");
    return OK;
}
int nvmlDeviceGetUUID(device *d, char *text, unsigned int size) {
    ANSWERS(d);
    snprintf(text, size, d->slice < 0 ? "GPU-%d0a1b2c3" : "MIG-%d%d0a1b2", d->index, d->slice);
    return OK;
}
int nvmlDeviceGetCudaComputeCapability(device *d, int *major, int *minor) {
    ANSWERS(d);
    *major = of(d)->major;
    *minor = of(d)->minor;
    return OK;
}
int nvmlDeviceGetMemoryInfo(device *d, nvmlMemory_t *memory) {
    ANSWERS(d);
    memory->total = d->slice < 0 ? of(d)->memory : d->slice == 0 ? 20937965568ULL : 5100273664ULL;
    memory->free = memory->used = 0;
    return OK;
}
int nvmlDeviceGetEccMode(device *d, unsigned int *current, unsigned int *pending) {
    ANSWERS(d);
    if (of(d)->ecc < 0) return NOT_SUPPORTED;
    *current = *pending = of(d)->ecc;
    return OK;
}
int nvmlDeviceGetEnforcedPowerLimit(device *d, unsigned int *limit) {
    ANSWERS(d);
    if (is("mixed") && d->index == 0) return NOT_SUPPORTED;
    *limit = of(d)->power_w * 1000;
    return OK;
}
int nvmlDeviceGetMaxClockInfo(device *d, int type, unsigned int *mhz) {
    ANSWERS(d);
    if (type != 1 && type != 2) return INVALID;
    *mhz = type == 1 ? of(d)->sm_mhz : of(d)->memory_mhz;
    return OK;
}
int nvmlDeviceGetPciInfo_v3(device *d, nvmlPciInfo_t *pci) {
    ANSWERS(d);
    memset(pci, 0xff, sizeof *pci);
    pci->domain = 0;
    pci->bus = 0x18 + d->index;
    pci->device = 0;
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", pci->bus);
    return OK;
}
int nvmlDeviceGetTopologyCommonAncestor(device *one, device *other, int *level) {
    if (is("a100-pcie-odd")) { *level = 35; return OK; }
    *level = one->index / 4 != other->index / 4 ? 50 : is("a100-pcie-near") ? 10 : 30;
    return OK;
}
#ifndef OLD
int nvmlDeviceGetMigMode(device *d, unsigned int *current, unsigned int *pending) {
    ANSWERS(d);
    if (of(d)->mig < 0) return NOT_SUPPORTED;
    *current = *pending = is("mig-half") ? d->index == 0 : of(d)->mig;
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(device *d, unsigned int *number) { *number = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(device *d, unsigned int index, void **handle) {
    if (index != 0 && (index != 3 || is("mig-alike"))) return NOT_FOUND; /* slots of removed slices stay empty */
    *handle = &slices[d->index][index == 3];
    return OK;
}
int nvmlDeviceGetAttributes_v2(device *d, nvmlDeviceAttributes_t *attributes) {
    memset(attributes, 0, sizeof *attributes);
    attributes->multiprocessorCount = d->slice == 0 ? 42 : 14;
    attributes->memorySizeMB = d->slice == 0 ? 19968 : 4864;
    return OK;
}
int nvmlDeviceGetNumGpuCores(device *d, unsigned int *cores) {
    ANSWERS(d);
    *cores = of(d)->cores;
    return OK;
}
int nvmlDeviceGetModuleId(device *d, unsigned int *module) {
    ANSWERS(d);
    *module = of(d)->module ? of(d)->module + d->index : 0;
    return OK;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(device *d, unsigned int link, int *type) {
    if (is("h100x8-guest")) return NOT_SUPPORTED;
    *type = of(d)->to;
    return OK;
}
int nvmlDeviceGetP2PStatus(device *one, device *other, int what, int *status) {
    if (what != 2) return INVALID;
    *status = starts("h100x8-split") && one->index / 4 != other->index / 4 ? 5 : 0;
    return OK;
}
#endif
int nvmlDeviceGetNvLinkState(device *d, unsigned int link, unsigned int *active) {
    ANSWERS(d);
    if (!of(d)->links) return NOT_SUPPORTED;
    if (link >= 18) return INVALID;
    *active = link < (unsigned int)of(d)->links;
    return OK;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(device *d, unsigned int link, nvmlPciInfo_t *pci) {
    if (is("h100x8-guest")) return NOT_SUPPORTED;
    memset(pci, 0, sizeof *pci);
    pci->domain = of(d)->to == TO_GPU ? 0 : link % 4;
    pci->bus = of(d)->to == TO_GPU ? 0x18 + (d->index ^ 1) : 0xc3;
    return OK;
}
