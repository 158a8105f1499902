// Devices as peers of each other: every one can reach every other one.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

std::mutex peers_mutex;  // guards the set

std::set<std::pair<CUcontext, CUcontext>>& peers() {
  static auto& all = *new std::set<std::pair<CUcontext, CUcontext>>;
  return all;
}

CUresult check_pair(CUdevice one, CUdevice other) {
  const bool both = driver().device(one) != nullptr && driver().device(other) != nullptr;
  return both && one != other ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

}  // namespace

bool has_peer_on(CUcontext context, int device) {
  const std::lock_guard lock(peers_mutex);
  return std::ranges::any_of(peers(), [&](const auto& pair) {
    return pair.first == context && pair.second->device == device;
  });
}

void end_peers_of(CUcontext context) {
  const std::lock_guard lock(peers_mutex);
  std::erase_if(peers(), [context](const auto& pair) {
    return pair.first == context || pair.second == context;
  });
}

namespace body {

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (driver().device(device) == nullptr || driver().device(peer) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *can = device != peer ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  CUcontext context = current_context();
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (peer == nullptr || peer == context) return CUDA_ERROR_INVALID_CONTEXT;
  if (check_context(peer) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  if (peer->device == context->device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  const std::lock_guard lock(peers_mutex);
  return peers().emplace(context, peer).second ? CUDA_SUCCESS
                                               : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  if (peer == nullptr || check_context(peer) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(peers_mutex);
  return peers().erase({current_context(), peer}) != 0 ? CUDA_SUCCESS
                                                       : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute name, CUdevice from,
                                 CUdevice to) {
  if (value == nullptr || name < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
      name > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = check_pair(from, to);
  if (result != CUDA_SUCCESS) return result;
  const bool reaches = name == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
                       name == CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED;
  *value = reaches ? 1 : 0;
  return CUDA_SUCCESS;
}

// No atomics over the link.
CUresult cuDeviceGetP2PAtomicCapabilities(unsigned* capabilities,
                                          const CUatomicOperation* operations, unsigned count,
                                          CUdevice from, CUdevice to) {
  if (capabilities == nullptr || operations == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = check_pair(from, to);
  if (result == CUDA_SUCCESS) std::fill_n(capabilities, count, 0U);
  return result;
}

CUresult cuDeviceGetHostAtomicCapabilities(unsigned* capabilities,
                                           const CUatomicOperation* operations, unsigned count,
                                           CUdevice device) {
  if (capabilities == nullptr || operations == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (driver().device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::fill_n(capabilities, count, 0U);
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
