// Codes events. What follows from earlier events is left out.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/trace/code.h"

namespace vramscope {

namespace {

using trace::What;

constexpr std::uint64_t kAddressUnit = 256;  // most addresses are multiples of this
constexpr std::uint64_t kWholeAddress = 1;   // in place of a difference: the whole address follows

[[nodiscard]] bool is_call(What what) { return what <= What::went; }
[[nodiscard]] bool comes(What what) { return what == What::came || what == What::came_besides; }
[[nodiscard]] bool goes(What what) { return what == What::went || what == What::went_besides; }

std::byte* put_byte(std::byte* at, std::size_t value) noexcept {
  *at = static_cast<std::byte>(value);
  return at + 1;
}

// `before` is a multiple of the unit.
std::byte* put_address(std::byte* at, Address address, Address before) noexcept {
  if (address % kAddressUnit != 0) return put_number(put_number(at, kWholeAddress), address);
  const auto difference = static_cast<std::int64_t>(address - before);
  const auto units = difference / static_cast<std::int64_t>(kAddressUnit);
  return put_number(at, fold(static_cast<std::uint64_t>(units)) << 1);
}
Address get_address(TraceBytes& bytes, Address before) noexcept {
  const std::uint64_t code = bytes.number();
  if (code == kWholeAddress) return bytes.number();
  if ((code & 1) != 0) bytes.fail();
  return before + unfold(code >> 1) * kAddressUnit;
}

std::byte* put_place(std::byte* at, Place place) noexcept {
  at = put_number(at, static_cast<std::uint64_t>(place.kind));
  at = put_number(at, place.device);
  return put_number(at, place.context);
}
Place get_place(TraceBytes& bytes) noexcept {
  Place place;
  place.kind = static_cast<Kind>(bytes.below(kKinds));
  place.device = static_cast<std::uint16_t>(bytes.below(std::uint64_t{1} << 16));
  place.context = bytes.below(std::uint64_t{1} << 32);
  return place;
}

constexpr std::uint8_t kByPytorch = 0x08;  // in the first byte of a segment's change

constexpr std::uint8_t kTimes = trace::kDriverTime | trace::kSyncTime;

std::uint8_t details_of(const Event& event) noexcept {
  return static_cast<std::uint8_t>((event.failed ? trace::kFailed : 0U) |
                                   static_cast<unsigned>(event.served) << trace::kServedShift |
                                   (event.driver_ns != 0 ? trace::kDriverTime : 0U) |
                                   (event.sync_ns != 0 ? trace::kSyncTime : 0U) |
                                   static_cast<unsigned>(event.effect) << trace::kEffectShift);
}

bool tells_memory(const Event& event) noexcept {
  return (event.address | event.bytes | event.tag | event.place.packed()) != 0;
}

}  // namespace

// Clears in place, since the stack of a program's thread may be small.
void TraceState::clear() noexcept {
  end_ns_ = serial_ = address_ = 0;
  tag_ = thread_ = 0;
  details_.fill({});
  by_address_.fill({});
  by_tag_.fill({});
}

std::uint64_t TraceState::expected_serial(What what) const noexcept {
  return serial_ + (comes(what) ? 1 : 0);
}

// A block is freed as it was allocated, and a call site asks again for what it asked for last.
const TraceState::Memory& TraceState::expected_memory(What what, const Memory* recalled,
                                                      Tag tag) const noexcept {
  const bool is_same = recalled != nullptr && recalled->tag == tag;
  return is_same && goes(what) ? *recalled : by_tag_[tag % kRemembered];
}

void TraceState::remember(const Event& event) noexcept {
  const Memory memory{event.address, event.bytes, event.place, event.tag};
  by_address_[slot_of(event.address)] = memory;
  by_tag_[event.tag % kRemembered] = memory;
  address_ = event.address / kAddressUnit * kAddressUnit;
  tag_ = event.tag;
}

// A time that the details allow and that is 0 does not change the details.
std::byte* TraceState::put_call(What what, const Event& event, std::uint8_t& head,
                                std::byte* at) noexcept {
  Details& last = details_[static_cast<std::size_t>(what)];
  const std::uint8_t wanted = details_of(event);
  const bool is_same = ((wanted ^ last.bits) & ~kTimes) == 0 && (wanted & ~last.bits) == 0;
  if (!is_same || event.function != last.function) {
    last = {wanted, event.function};
    head |= trace::kDetails;
    at = put_number(put_byte(at, wanted), event.function);
  }
  at = put_number(at, fold(event.start_ns - end_ns_));
  at = put_number(at, event.total_ns);
  if ((last.bits & trace::kDriverTime) != 0) {
    at = put_number(at, fold(event.total_ns - event.driver_ns));
  }
  if ((last.bits & trace::kSyncTime) != 0) {
    at = put_number(at, fold(event.total_ns - event.sync_ns));
  }
  end_ns_ = event.start_ns + event.total_ns;
  return at;
}

void TraceState::get_call(What what, TraceBytes& bytes, std::uint8_t head, Event& event) noexcept {
  Details& last = details_[static_cast<std::size_t>(what)];
  if ((head & trace::kDetails) != 0) {
    last.bits = bytes.byte();
    last.function = static_cast<std::uint16_t>(bytes.below(std::uint64_t{1} << 16));
  }
  event.function = last.function;
  event.failed = (last.bits & trace::kFailed) != 0;
  event.served = static_cast<Served>(last.bits >> trace::kServedShift & 3);
  event.effect = static_cast<Effect>(last.bits >> trace::kEffectShift);
  if (event.served > Served::driver || event.effect > Effect::life) bytes.fail();
  event.start_ns = end_ns_ + unfold(bytes.number());
  event.total_ns = bytes.number();
  if ((last.bits & trace::kDriverTime) != 0) {
    event.driver_ns = event.total_ns - unfold(bytes.number());
  }
  if ((last.bits & trace::kSyncTime) != 0) {
    event.sync_ns = event.total_ns - unfold(bytes.number());
  }
  end_ns_ = event.start_ns + event.total_ns;
}

std::byte* TraceState::put_serial(What what, std::uint64_t serial, std::uint8_t& head,
                                  std::byte* at) noexcept {
  const std::uint64_t expected = expected_serial(what);
  if (serial != expected) {
    head |= trace::kSerial;
    at = put_number(at, fold(serial - expected));
  }
  serial_ = serial;
  return at;
}

void TraceState::get_serial(What what, TraceBytes& bytes, std::uint8_t head,
                            Event& event) noexcept {
  event.serial = expected_serial(what);
  if ((head & trace::kSerial) != 0) event.serial += unfold(bytes.number());
  serial_ = event.serial;
}

std::byte* TraceState::put_change(What what, const Event& event, std::uint8_t& head,
                                  std::byte* at) noexcept {
  at = put_serial(what, event.serial, head, at);
  const std::size_t slot = slot_of(event.address);
  const Memory& known = by_address_[slot];
  const Memory* const recalled = known.address == event.address ? &known : nullptr;
  if (recalled != nullptr) {
    head |= trace::kRecalled;
    at = put_byte(at, slot);
  } else {
    at = put_address(at, event.address, address_);
  }
  if (event.tag != (recalled != nullptr ? recalled->tag : tag_)) {
    head |= trace::kTag;
    at = put_number(at, event.tag);
  }
  const Memory& expected = expected_memory(what, recalled, event.tag);
  if (event.bytes != expected.bytes || !(event.place == expected.place)) {
    head |= trace::kMemory;
    at = put_place(put_number(at, event.bytes), event.place);
  }
  remember(event);
  return at;
}

void TraceState::get_change(What what, TraceBytes& bytes, std::uint8_t head,
                            Event& event) noexcept {
  get_serial(what, bytes, head, event);
  const Memory* recalled = nullptr;
  if ((head & trace::kRecalled) != 0) {
    recalled = &by_address_[bytes.byte()];
    event.address = recalled->address;
  } else {
    event.address = get_address(bytes, address_);
  }
  event.tag = recalled != nullptr ? recalled->tag : tag_;
  if ((head & trace::kTag) != 0) event.tag = bytes.below(std::uint64_t{1} << 32);
  const Memory& expected = expected_memory(what, recalled, event.tag);
  event.bytes = expected.bytes;
  event.place = expected.place;
  if ((head & trace::kMemory) != 0) {
    event.bytes = bytes.number();
    event.place = get_place(bytes);
  }
  event.change = comes(what) ? MemoryChange::came : MemoryChange::went;
  remember(event);
}

std::byte* TraceState::put(const TraceEvent& one, std::byte* at) noexcept {
  if (one.thread != thread_) {
    thread_ = one.thread;
    at = put_number(put_byte(at, static_cast<std::size_t>(What::thread)), thread_);
  }
  std::byte* const first = at++;
  auto head = static_cast<std::uint8_t>(one.what);
  const Event& event = one.event;
  if (is_call(one.what)) {
    at = put_call(one.what, event, head, at);
  } else {
    at = put_number(at, fold(event.start_ns - end_ns_));
  }
  if (one.what == What::place_ended) {
    at = put_place(put_serial(one.what, event.serial, head, at), event.place);
  } else if (one.what != What::call) {
    at = put_change(one.what, event, head, at);
  } else if (tells_memory(event)) {
    head |= trace::kMemory;
    at = put_number(put_number(at, event.address), event.bytes);
    at = put_place(put_number(at, event.tag), event.place);
  }
  *first = static_cast<std::byte>(head);
  return at;
}

std::byte* put_segment(const SegmentChange& change, std::byte* at) noexcept {
  at = put_byte(at, static_cast<std::size_t>(change.what) | (change.by_pytorch ? kByPytorch : 0U));
  at = put_number(put_number(at, change.serial), change.at_ns);
  at = put_number(put_place(at, change.place), change.address);
  return put_number(put_number(at, change.bytes), change.page_bytes);
}

bool get_segment(TraceBytes& bytes, SegmentChange& change) noexcept {
  const std::uint8_t head = bytes.byte();
  const auto what = static_cast<std::uint8_t>(head & ~kByPytorch);
  if (what > static_cast<std::uint8_t>(SegmentChange::What::pages_went)) bytes.fail();
  change.what = static_cast<SegmentChange::What>(what);
  change.by_pytorch = what != head;
  change.serial = bytes.number();
  change.at_ns = bytes.number();
  change.place = get_place(bytes);
  change.address = bytes.number();
  change.bytes = bytes.number();
  change.page_bytes = bytes.number();
  if (change.bytes > UINT64_MAX - change.address) bytes.fail();
  return !bytes.bad();
}

std::byte* put_unrecorded(const UnrecordedChange& change, std::byte* at) noexcept {
  at = put_byte(at, 0);
  at = put_number(put_number(at, change.serial), change.at_ns);
  at = put_number(put_number(at, change.device), change.total_bytes);
  return put_number(put_number(at, change.unrecorded_bytes), change.kept_bytes);
}

bool get_unrecorded(TraceBytes& bytes, UnrecordedChange& change) noexcept {
  if (bytes.byte() != 0) bytes.fail();
  change.serial = bytes.number();
  change.at_ns = bytes.number();
  change.device = static_cast<std::uint16_t>(bytes.below(kMaxDevices));
  change.total_bytes = bytes.number();
  change.unrecorded_bytes = bytes.number();
  change.kept_bytes = bytes.number();
  return !bytes.bad();
}

bool TraceState::get(TraceBytes& bytes, TraceEvent& one) noexcept {
  std::uint8_t head = bytes.byte();
  while ((head & trace::kWhat) == static_cast<std::uint8_t>(What::thread) && !bytes.bad()) {
    thread_ = bytes.below(std::uint64_t{1} << 32);
    head = bytes.byte();
  }
  one = {.what = static_cast<What>(head & trace::kWhat), .thread = thread_, .event = {}};
  Event& event = one.event;
  if (one.what > What::place_ended) return false;
  if (is_call(one.what)) {
    get_call(one.what, bytes, head, event);
  } else {
    event.start_ns = end_ns_ + unfold(bytes.number());
  }
  if (one.what == What::place_ended) {
    get_serial(one.what, bytes, head, event);
    event.place = get_place(bytes);
  } else if (one.what != What::call) {
    get_change(one.what, bytes, head, event);
  } else if ((head & trace::kMemory) != 0) {
    event.address = bytes.number();
    event.bytes = bytes.number();
    event.tag = bytes.below(std::uint64_t{1} << 32);
    event.place = get_place(bytes);
  }
  return !bytes.bad();
}

}  // namespace vramscope
