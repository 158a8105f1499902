// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/capacities.h"

#include <utility>

namespace vramscope {

void Capacities::set(std::uint16_t device, std::uint64_t bytes, std::uint64_t kept_by_driver) {
  uses_[device].limit = bytes;
  uses_[device].kept = kept_by_driver;
}

const CapacityUse* Capacities::taken_by(Place where) const {
  const CapacityUse& use = uses_[where.device];
  const bool takes = has_device(where.kind) || (where.kind == Kind::pinned && use.is_hosts);
  return takes ? &use : nullptr;
}

CapacityUse* Capacities::taken_by(Place where) {
  return const_cast<CapacityUse*>(std::as_const(*this).taken_by(where));
}

void Capacities::promise(Place where, std::uint64_t bytes) {
  CapacityUse* const use = taken_by(where);
  if (use == nullptr) return;
  use->promised += bytes;
  use->rounding.add(where.kind, bytes);
}

void Capacities::end_promise(Place where, std::uint64_t bytes) {
  CapacityUse* const use = taken_by(where);
  if (use == nullptr) return;
  use->promised -= bytes;
  use->rounding.remove(where.kind, bytes);
}

void Capacities::ask(Place where, std::uint64_t bytes) {
  CapacityUse* const use = taken_by(where);
  if (use == nullptr) return;
  use->awaited += bytes;
  use->rounding.add(where.kind, bytes);
}

void Capacities::end_asking(Place where, std::uint64_t bytes) {
  CapacityUse* const use = taken_by(where);
  if (use == nullptr) return;
  use->awaited -= bytes;
  use->rounding.remove(where.kind, bytes);
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
          .held = use.direct + use.promised + use.reserved + use.awaited +
                  (use.is_hosts && device == 0 ? pinned_ : 0),
          .managed = use.is_hosts ? 0 : use.managed,
          .kept = use.kept,
          .refusals = use.refusals,
          .rounding = use.rounding.bytes(),
          .in_pools = use.rounding.in_shared_pages(Kind::stream_ordered),
          .is_hosts = use.is_hosts};
}

bool Capacities::has_room(Place where, std::uint64_t bytes) const {
  const CapacityUse* const use = taken_by(where);
  if (use == nullptr || use->limit == Limits::kUnlimited) return true;
  PageRounding rounding = use->rounding;
  rounding.add(where.kind, bytes);
  const DeviceCapacity now = of(where.device);
  const std::uint64_t counted = now.held - now.managed + rounding.bytes() + now.kept;
  return bytes <= now.limit && counted <= now.limit - bytes;
}

}  // namespace vramscope
