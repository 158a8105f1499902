// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/capacities.h"

namespace vramscope {

void Capacities::set(std::uint16_t device, std::uint64_t bytes, std::uint64_t kept_by_driver) {
  uses_[device].limit = bytes;
  uses_[device].kept = kept_by_driver;
}

void Capacities::promise(Place where, std::uint64_t bytes) {
  uses_[where.device].promised += bytes;
  uses_[where.device].rounding.add(where.kind, bytes);
}

void Capacities::end_promise(Place where, std::uint64_t bytes) {
  uses_[where.device].promised -= bytes;
  uses_[where.device].rounding.remove(where.kind, bytes);
}

void Capacities::ask(Place where, std::uint64_t bytes) {
  uses_[where.device].awaited += bytes;
  uses_[where.device].rounding.add(where.kind, bytes);
}

void Capacities::end_asking(Place where, std::uint64_t bytes) {
  uses_[where.device].awaited -= bytes;
  uses_[where.device].rounding.remove(where.kind, bytes);
}

void Capacities::came(Place where, std::uint64_t bytes) {
  uses_[where.device].reserved += bytes;
  uses_[where.device].rounding.add(where.kind, bytes);
}

void Capacities::went(Place where, std::uint64_t bytes) {
  uses_[where.device].reserved -= bytes;
  uses_[where.device].rounding.remove(where.kind, bytes);
}

void Capacities::direct_came(Place where, std::uint64_t bytes) {
  if (takes_device_memory(where.kind)) {
    uses_[where.device].direct += bytes;
    uses_[where.device].rounding.add(where.kind, bytes);
  }
  if (where.kind == Kind::managed) uses_[where.device].managed += bytes;
}

void Capacities::direct_went(Place where, std::uint64_t bytes) {
  if (takes_device_memory(where.kind)) {
    uses_[where.device].direct -= bytes;
    uses_[where.device].rounding.remove(where.kind, bytes);
  }
  if (where.kind == Kind::managed) uses_[where.device].managed -= bytes;
}

DeviceCapacity Capacities::of(std::uint16_t device) const {
  const CapacityUse& use = uses_[device];
  return {.limit = use.limit,
          .held = use.direct + use.promised + use.reserved + use.awaited,
          .managed = use.managed,
          .kept = use.kept,
          .refusals = use.refusals,
          .rounding = use.rounding.bytes(),
          .in_pools = use.rounding.in_shared_pages(Kind::stream_ordered)};
}

bool Capacities::has_room(Place where, std::uint64_t bytes) const {
  const CapacityUse& use = uses_[where.device];
  if (use.limit == Limits::kUnlimited) return true;
  PageRounding rounding = use.rounding;
  rounding.add(where.kind, bytes);
  const DeviceCapacity now = of(where.device);
  const std::uint64_t counted = now.held - now.managed + rounding.bytes() + now.kept;
  return bytes <= now.limit && counted <= now.limit - bytes;
}

}  // namespace vramscope
