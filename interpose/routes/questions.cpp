// Answers the program's questions about an address.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "allocator/base/fault.h"
#include "allocator/base/size_policy.h"
#include "interpose/loader/real.h"
#include "interpose/routes/driver_answers.h"
#include "interpose/routes/exports.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {

CUresult cuMemGetAddressRange_v2(Call& call, const DirectCall& direct, CUdeviceptr* pbase,
                                 std::size_t* psize, CUdeviceptr dptr) noexcept {
  const Found found = find_ours(call.profiler().allocator(), dptr);
  if (!found.owned) return direct();
  if (outside_live_block(found, dptr)) {
    return real().cuMemGetAddressRange_v2(pbase, psize, unknown_address());
  }
  const CUresult code = direct();  // the driver decides whether the call is allowed now
  if (code != CUDA_SUCCESS || is_exact(found) || fault(Fault::range_of_segment)) return code;
  if (pbase != nullptr) *pbase = found.block.address;
  if (psize != nullptr) *psize = found.block.requested_size;
  return CUDA_SUCCESS;
}

namespace {

// Ids of allocations are never reused. The driver's ids count up from small numbers; ours have the
// highest bit set.
constexpr std::uint64_t kOurBufferIds = std::uint64_t{1} << 63;

// To the driver a pinned block is a mapping that is larger than the request, and the same one each
// time the block is allocated. Answers with the program's allocation instead.
void describe_pinned_block(const Found& found, CUpointer_attribute attribute, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      *static_cast<CUdeviceptr*>(data) = found.block.address;
      break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      *static_cast<std::size_t*>(data) = found.block.requested_size;
      break;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      *static_cast<std::uint64_t*>(data) = kOurBufferIds | found.serial;
      break;
    default:
      break;
  }
}

// Memory in mapped pages has no context, but the program's own call would have one.
void name_context(Call& call, const Found& found, void* data) {
  CUcontext& context = *static_cast<CUcontext*>(data);
  if (context == nullptr) context = call.profiler().contexts().handle(found.where);
}

// The driver answers for single pages, and only if the current context's device has access. The
// program has one allocation of whole driver pages on its device. Returns false if the driver's
// answer is right for the block.
bool describe_pages(const Found& found, CUpointer_attribute attribute, CUdeviceptr asked,
                    void* data) {
  const Address begin = found.block.address / kGranularity * kGranularity;
  const Address end = round_up(found.block.address + found.block.requested_size, kGranularity);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(data) = asked;
      return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      *static_cast<unsigned*>(data) = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      *static_cast<CUdeviceptr*>(data) = begin;
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      *static_cast<std::size_t*>(data) = end - begin;
      return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      *static_cast<std::uint64_t*>(data) = kOurBufferIds | found.serial;
      return true;
    default:
      return false;
  }
}

// Replaces an attribute of the segment by that of the block.
void describe_block(Call& call, const Found& found, CUpointer_attribute attribute, void* data) {
  if (found.where.kind == Kind::pinned) describe_pinned_block(found, attribute, data);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(data) = found.block.address;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      if (!is_exact(found)) *static_cast<std::size_t*>(data) = found.block.requested_size;
      break;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      if (found.where.kind == Kind::device) name_context(call, found, data);
      break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<std::uint64_t*>(data) = kOurBufferIds | found.serial;
      break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      if (!found.dedicated) *static_cast<unsigned char*>(data) = 0;  // not exportable
      break;
    default:
      break;
  }
}

// Tokens are for hardware that accesses the memory; a program that requests them also sets
// SYNC_MEMOPS.
bool asks_for_tokens(std::span<const CUpointer_attribute> attributes) {
  return std::find(attributes.begin(), attributes.end(), CU_POINTER_ATTRIBUTE_P2P_TOKENS) !=
         attributes.end();
}

}  // namespace

CUresult cuPointerGetAttribute(Call& call, const DirectCall& direct, void* data,
                               CUpointer_attribute attribute, CUdeviceptr ptr) noexcept {
  const Found found = find_ours(call.profiler().allocator(), ptr);
  if (!found.owned) return direct();
  if (outside_live_block(found, ptr)) {
    return real().cuPointerGetAttribute(data, attribute, unknown_address());
  }
  const bool exports =
      found.where.kind == Kind::device && asks_for_tokens({&attribute, std::size_t{1}});
  if (exports && !may_export(call, found, "cuPointerGetAttribute")) return CUDA_ERROR_NOT_SUPPORTED;
  CUresult code = direct();
  const bool may_answer = code == CUDA_SUCCESS || code == CUDA_ERROR_INVALID_VALUE;
  if (found.in_pages && data != nullptr && may_answer &&
      describe_pages(found, attribute, ptr, data)) {
    code = CUDA_SUCCESS;
  }
  if (code == CUDA_SUCCESS) describe_block(call, found, attribute, data);
  return exports ? exported(call, code) : code;
}

namespace {

// For an address that it does not know, the driver returns the address as host address, and, where
// devices use pageable memory, as device address (test/simulator/OPEN.md). Returns the program's
// address instead of the one that was passed.
void give_back_own(std::span<const CUpointer_attribute> names, void** data, CUdeviceptr own) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_address = names[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
                            names[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    if (!is_address) continue;
    auto* const answer = static_cast<CUdeviceptr*>(data[i]);
    if (*answer == unknown_address()) *answer = own;
  }
}

}  // namespace

CUresult cuPointerGetAttributes(Call& call, const DirectCall& direct, unsigned int count,
                                CUpointer_attribute* attributes, void** data,
                                CUdeviceptr ptr) noexcept {
  const Found found = find_ours(call.profiler().allocator(), ptr);
  if (!found.owned) return direct();
  if (outside_live_block(found, ptr)) {
    const CUresult code = real().cuPointerGetAttributes(count, attributes, data, unknown_address());
    if (code == CUDA_SUCCESS) give_back_own({attributes, count}, data, ptr);
    return code;
  }
  const bool exports = found.where.kind == Kind::device && attributes != nullptr &&
                       asks_for_tokens({attributes, count});
  if (exports && !may_export(call, found, "cuPointerGetAttributes")) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const CUresult code = direct();
  if (exports) exported(call, code);
  if (code != CUDA_SUCCESS) return code;
  for (unsigned int i = 0; i < count; ++i) {
    if (found.in_pages) static_cast<void>(describe_pages(found, attributes[i], ptr, data[i]));
    describe_block(call, found, attributes[i], data[i]);
  }
  return code;
}

}  // namespace vramscope::routes
