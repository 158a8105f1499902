// Functions that pass by us: each is called with nothing in its arguments, and says what it says
// without us. Which ones they are is compared with interpose/declined.def.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <type_traits>

#include "test/programs/by_name.h"

namespace {

CUtexref texture = nullptr;

template <class T>
concept Complete = std::is_void_v<T> || requires {
  sizeof(T);
};

// Nothing of a type: zero, no handle, or memory full of zeros.
template <class T>
T nothing() {
  alignas(64) static char zeros[4096];
  if constexpr (std::is_same_v<T, CUtexref>) {
    return texture;
  } else if constexpr (!std::is_pointer_v<T>) {
    return T{};
  } else if constexpr (std::is_function_v<std::remove_pointer_t<T>> ||
                       !Complete<std::remove_pointer_t<T>>) {
    return nullptr;
  } else {
    std::memset(zeros, 0, sizeof zeros);
    return reinterpret_cast<T>(zeros);
  }
}

template <class... Parameters>
void call_with_nothing(const char* name, CUresult (*type)(Parameters...)) {
  call(name, type, nothing<Parameters>()...);
}

}  // namespace

// clang-format off
#define PLAIN_FUNCTIONS(X) \
  X(cuMemAdvise) X(cuMemAdvise_v2) X(cuMemDiscardAndPrefetchBatchAsync)                           \
  X(cuMemDiscardAndPrefetchBatchAsync_ptsz) X(cuMemDiscardBatchAsync)                             \
  X(cuMemDiscardBatchAsync_ptsz) X(cuMemPrefetchAsync) X(cuMemPrefetchAsync_ptsz)                 \
  X(cuMemPrefetchAsync_v2) X(cuMemPrefetchAsync_v2_ptsz) X(cuMemPrefetchBatchAsync)               \
  X(cuMemPrefetchBatchAsync_ptsz) X(cuMemRangeGetAttribute) X(cuMemRangeGetAttributes)            \
  X(cuStreamAttachMemAsync) X(cuStreamAttachMemAsync_ptsz) X(cuDeviceGetDefaultMemPool)           \
  X(cuDeviceGetMemPool) X(cuDeviceSetMemPool) X(cuMemGetDefaultMemPool) X(cuMemGetMemPool)        \
  X(cuMemPoolGetAccess) X(cuMemPoolGetAttribute) X(cuMemPoolSetAccess) X(cuMemPoolSetAttribute)   \
  X(cuMemSetMemPool) X(cuMemGetAccess) X(cuMemGetAllocationGranularity)                           \
  X(cuMemGetAllocationPropertiesFromHandle) X(cuMemGetHandleForAddressRange) X(cuMemSetAccess)    \
  X(cuMulticastGetGranularity) X(cuArray3DGetDescriptor) X(cuArray3DGetDescriptor_v2)             \
  X(cuArrayGetDescriptor) X(cuArrayGetDescriptor_v2) X(cuArrayGetMemoryRequirements)              \
  X(cuArrayGetPlane) X(cuArrayGetSparseProperties) X(cuMipmappedArrayGetLevel)                    \
  X(cuMipmappedArrayGetMemoryRequirements) X(cuMipmappedArrayGetSparseProperties)                 \
  X(cuSurfObjectCreate) X(cuTensorMapEncodeIm2col) X(cuTensorMapEncodeIm2colWide)                 \
  X(cuTensorMapEncodeTiled) X(cuTensorMapReplaceAddress) X(cuTexObjectCreate)                     \
  X(cuTexRefGetArray) X(cuTexRefGetMipmappedArray) X(cuTexRefSetAddress) X(cuTexRefSetAddress2D)  \
  X(cuTexRefSetAddress2D_v2) X(cuTexRefSetAddress2D_v3) X(cuTexRefSetAddressMode)                 \
  X(cuTexRefSetAddress_v2) X(cuTexRefSetArray) X(cuTexRefSetMipmappedArray)                       \
  X(cuIpcGetEventHandle) X(cuIpcOpenEventHandle) X(cuGraphicsResourceSetMapFlags)                 \
  X(cuGraphicsResourceSetMapFlags_v2) X(cuDeviceGetGraphMemAttribute)                             \
  X(cuDeviceSetGraphMemAttribute) X(cuGraphClone) X(cuGraphDestroyNode) X(cuGraphExecUpdate)      \
  X(cuGraphExecUpdate_v2) X(cuGraphMemAllocNodeGetParams)  \
  X(cuGraphMemFreeNodeGetParams) X(cuGraphReleaseUserObject) X(cuGraphRetainUserObject)           \
  X(cuUserObjectCreate) X(cuUserObjectRelease)             \
  X(cuUserObjectRetain) X(cuLibraryGetGlobal) X(cuLibraryGetManaged) X(cuModuleGetGlobal)         \
  X(cuModuleGetGlobal_v2) X(cuPointerSetAttribute) X(cuCtxDisablePeerAccess)                      \
  X(cuCtxEnablePeerAccess) X(cuCtxSetLimit) X(cuDevicePrimaryCtxGetState)                         \
  X(cuDevicePrimaryCtxSetFlags) X(cuDevicePrimaryCtxSetFlags_v2) X(cuGreenCtxGetDevResource)      \
  X(cuGreenCtxGetId) X(cuGreenCtxRecordEvent) X(cuGreenCtxWaitEvent) X(cuStreamCreate)            \
  X(cuStreamCreateWithPriority) X(cuStreamGetCaptureInfo) X(cuStreamGetCaptureInfo_ptsz)          \
  X(cuStreamGetCaptureInfo_v2) X(cuStreamGetCaptureInfo_v2_ptsz) X(cuStreamGetCaptureInfo_v3)     \
  X(cuStreamGetCaptureInfo_v3_ptsz) X(cuStreamGetGreenCtx) X(cuStreamUpdateCaptureDependencies)   \
  X(cuStreamUpdateCaptureDependencies_ptsz) X(cuStreamUpdateCaptureDependencies_v2)               \
  X(cuStreamUpdateCaptureDependencies_v2_ptsz) X(cuThreadExchangeStreamCaptureMode)               \
  X(cuCheckpointProcessGetRestoreThreadId) X(cuCheckpointProcessGetState)                         \
  X(cuDeviceRegisterAsyncNotification) X(cuDeviceUnregisterAsyncNotification)                     \
  X(cuFlushGPUDirectRDMAWrites) X(cuLogsDumpToMemory) X(cuMemBatchDecompressAsync)                \
  X(cuMemBatchDecompressAsync_ptsz)
// clang-format on

int main() {
  start_by_name();
  CALL(cuTexRefCreate, &texture);
#define X(name) call_with_nothing(#name, decltype(&name){});
  PLAIN_FUNCTIONS(X)
#undef X
}
