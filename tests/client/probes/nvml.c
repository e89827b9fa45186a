/* A stand-in for libnvidia-ml.so.1 with the real names and layouts: one or two devices, MIG, failures, a hang.
 * Compiled by test_nvml.py; which machine it plays is chosen with -D. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef INIT_STATUS
#define INIT_STATUS 0
#endif
#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef NAME
#define NAME "NVIDIA H100 80GB HBM3"
#endif
#ifndef MAJOR
#define MAJOR 9
#endif
#ifndef CORES
#define CORES 16896
#endif
#ifndef MIG_STATUS
#define MIG_STATUS 0
#endif

typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct {
    unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount, sharedJpegCount,
        sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;
typedef struct { int index, slice; } device;

static device whole[2] = {{0, -1}, {1, -1}};
static device slices[2] = {{0, 0}, {0, 1}};

int nvmlInit_v2(void) {
#ifdef HANG
    sleep(30);
#endif
#ifdef CRASH
    *(volatile int *)0 = 0;
#endif
    return INIT_STATUS;
}
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned int size) { snprintf(text, size, "550.54.15"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12040; return 0; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = DEVICES; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) { *handle = &whole[index]; return 0; }
int nvmlDeviceGetName(device *d, char *text, unsigned int size) {
    snprintf(text, size, d->slice < 0 ? NAME : NAME " MIG %s", d->slice == 0 ? "3g.20gb" : "1g.5gb");
    return 0;
}
int nvmlDeviceGetUUID(device *d, char *text, unsigned int size) {
    snprintf(text, size, d->slice < 0 ? "GPU-%d" : "MIG-%d-%d", d->index, d->slice);
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(device *d, int *major, int *minor) { *major = MAJOR; *minor = 0; return 0; }
int nvmlDeviceGetNumGpuCores(device *d, unsigned int *cores) { *cores = CORES; return 0; }
int nvmlDeviceGetMemoryInfo(device *d, nvmlMemory_t *memory) {
    memory->total = d->slice < 0 ? 85520809984ULL : d->slice == 0 ? 20937965568ULL : 5100273664ULL;
    memory->free = memory->used = 0;
    return 0;
}
int nvmlDeviceGetEccMode(device *d, unsigned int *current, unsigned int *pending) {
#ifdef NO_ECC
    return 3;
#else
    *current = *pending = 1;
    return 0;
#endif
}
int nvmlDeviceGetMigMode(device *d, unsigned int *current, unsigned int *pending) {
#ifdef MIG
    *current = *pending = 1;
#else
    *current = *pending = 0;
#endif
    return MIG_STATUS;
}
int nvmlDeviceGetMaxMigDeviceCount(device *d, unsigned int *count) { *count = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(device *d, unsigned int index, void **handle) {
    if (index != 0 && index != 3) return 6; /* NVML_ERROR_NOT_FOUND: slots of removed slices stay empty */
    *handle = &slices[index == 3];
    return 0;
}
int nvmlDeviceGetAttributes_v2(device *d, nvmlDeviceAttributes_t *attributes) {
    memset(attributes, 0, sizeof *attributes);
    attributes->multiprocessorCount = d->slice == 0 ? 42 : 14;
    attributes->memorySizeMB = d->slice == 0 ? 19968 : 4864;
    return 0;
}
#ifndef OLD
int nvmlDeviceGetNvLinkState(device *d, unsigned int link, unsigned int *active) {
#ifdef NO_NVLINK
    return 3;
#else
    *active = link == 4;
    return 0;
#endif
}
#endif
