// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/trace/begin.h"

#include <array>
#include <initializer_list>

namespace vramscope {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
constexpr std::size_t kMostBlockBytes = 8 * kMostNumberBytes;

void add(std::string& chunk, std::initializer_list<std::uint64_t> numbers) {
  std::array<std::byte, kMostBlockBytes> bytes{};
  std::byte* end = bytes.data();
  for (const std::uint64_t number : numbers) end = put_number(end, number);
  chunk.append(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::size_t>(end - bytes.data()));
}

}  // namespace

bool TraceBegin::covers(const TraceEvent& event) const noexcept {
  switch (event.what) {
    case trace::What::came:
    case trace::What::came_besides:
      return event.event.serial <= serial;
    case trace::What::went:
    case trace::What::went_besides:
    case trace::What::place_ended:
      return event.event.serial < serial;
    default:
      return false;
  }
}

std::vector<std::string> put_begin(const TraceBegin& begin, std::span<const Event> live) {
  std::vector<std::string> chunks;
  for (std::size_t i = 0; i < live.size() || chunks.empty();) {
    std::string& chunk = chunks.emplace_back();
    add(chunk, {begin.serial, begin.at_ns});
    for (; i < live.size() && chunk.size() < kChunkBytes; ++i) {
      const Event& one = live[i];
      const bool is_direct = one.served == Served::direct;
      add(chunk, {is_direct ? 1U : 0U, one.serial, one.address, one.bytes, one.tag,
                  static_cast<std::uint64_t>(one.place.kind), one.place.device, one.place.context});
    }
  }
  return chunks;
}

bool get_begin(TraceBytes& bytes, TraceBegin& begin, std::vector<TraceEvent>& live) {
  begin.serial = bytes.number();
  begin.at_ns = bytes.number();
  while (!bytes.empty()) {
    TraceEvent one{.what = trace::What::live_before, .event = {}};
    Event& event = one.event;
    event.change = MemoryChange::came;
    event.served = bytes.below(2) == 1 ? Served::direct : Served::hit;
    event.effect = Effect::allocate;
    event.start_ns = begin.at_ns;
    event.serial = bytes.number();
    event.address = bytes.number();
    event.bytes = bytes.number();
    event.tag = bytes.below(std::uint64_t{1} << 32);
    event.place.kind = static_cast<Kind>(bytes.below(kKinds));
    event.place.device = static_cast<std::uint16_t>(bytes.below(std::uint64_t{1} << 16));
    event.place.context = bytes.below(std::uint64_t{1} << 32);
    if (event.bytes > UINT64_MAX - event.address) bytes.fail();
    if (!bytes.bad()) live.push_back(one);
  }
  return !bytes.bad();
}

}  // namespace vramscope
