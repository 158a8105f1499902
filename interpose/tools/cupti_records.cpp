// SPDX-License-Identifier: Apache-2.0
#include "interpose/tools/cupti_records.h"

namespace vramscope {

namespace {

using What = CuptiRecord::What;

std::optional<What> what_of(CUpti_ActivityMemoryOperationType type) noexcept {
  if (type == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) return What::allocation;
  if (type == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) return What::release;
  return std::nullopt;
}

std::optional<What> what_of(CUpti_ActivityMemoryPoolOperationType type) noexcept {
  switch (type) {
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED:
      return What::pool_created;
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED:
      return What::pool_destroyed;
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED:
      return What::pool_trimmed;
    default:
      return std::nullopt;
  }
}

// `external` means memory that we do not compare: pageable host memory and variables of modules.
Kind kind_of(const CUpti_ActivityMemory4& record) noexcept {
  switch (record.memoryKind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return record.isAsync != 0 ? Kind::stream_ordered : Kind::device;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return Kind::pinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return record.isAsync != 0 ? Kind::stream_ordered : Kind::managed;
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return Kind::array;
    default:
      return Kind::external;
  }
}

std::uint16_t device_of(std::uint32_t id) noexcept {
  return id < kMaxDevices ? static_cast<std::uint16_t>(id) : std::uint16_t{0};
}

}  // namespace

std::optional<CuptiRecord> read_record(const CUpti_Activity& activity, bool has_source) noexcept {
  CuptiRecord result;
  if (activity.kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
    const auto& record = reinterpret_cast<const CUpti_ActivityMemory4&>(activity);
    const auto what = what_of(record.memoryOperationType);
    if (!what) return std::nullopt;
    result = {.what = *what,
              .kind = kind_of(record),
              .device = device_of(record.deviceId),
              .address = record.address,
              .bytes = record.bytes};
    if (has_source && record.source != nullptr) result.source = record.source;
    return result;
  }
  if (activity.kind != CUPTI_ACTIVITY_KIND_MEMORY_POOL) return std::nullopt;
  // All versions of this record begin with these fields.
  const auto& record = reinterpret_cast<const CUpti_ActivityMemoryPool2&>(activity);
  const auto what = what_of(record.memoryPoolOperationType);
  if (!what) return std::nullopt;
  result.what = *what;
  result.device = device_of(record.deviceId);
  return result;
}

}  // namespace vramscope
