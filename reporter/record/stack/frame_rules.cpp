// The table. A rule and the tag of its address are one word, which is written at once.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/frame_rules.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "reporter/record/stack/foreign_unwinder.h"

namespace vramscope::frame_rules {

namespace {

// Bits of program addresses. Higher addresses, with five levels of page tables, are not remembered.
constexpr unsigned kAddressBits = 47;
constexpr unsigned kSetBits = 12;
constexpr unsigned kTagBits = kAddressBits - kSetBits;
constexpr unsigned kCfaBits = 22, kSavedBits = 4, kKindBits = 3;
static_assert(kTagBits + kCfaBits + kSavedBits + kKindBits == 64);
constexpr std::uint32_t kWord = sizeof(std::uintptr_t);

constexpr std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

// A set takes a cache line. Zero bytes mean an empty way.
struct Set {
  static constexpr std::size_t kWays = 8;
  std::array<std::atomic<std::uint64_t>, kWays> ways;
};
static_assert(sizeof(Set) == 64);

using Table = std::array<Set, std::size_t{1} << kSetBits>;  // 256 KiB, which takes memory as it is
                                                            // used
constinit std::atomic<Table*> table{nullptr};

// Multiplication by an odd number keeps all addresses distinct, so set and tag together identify
// the address.
constexpr std::uint64_t spread(std::uintptr_t code) {
  return code * 0x9e3779b97f4a7c15U & mask(kAddressBits);
}

std::uint64_t packed(std::uint64_t tag, const FrameRule& rule) {
  std::uint64_t word = tag << kCfaBits | rule.cfa / kWord;
  word = word << kSavedBits | rule.saved_below / kWord;
  return word << kKindBits | static_cast<std::uint64_t>(rule.kind);
}

FrameRule unpacked(std::uint64_t word) {
  const auto cfa = static_cast<std::uint32_t>(word >> (kSavedBits + kKindBits) & mask(kCfaBits));
  const auto saved = static_cast<std::uint32_t>(word >> kKindBits & mask(kSavedBits));
  return {.kind = static_cast<FrameRule::Kind>(word & mask(kKindBits)),
          .cfa = cfa * kWord,
          .saved_below = saved * kWord};
}

// A frame whose rule does not fit into a word comes from no compiler, so it is treated as odd.
FrameRule fitting(const FrameRule& rule) {
  const bool fits = rule.cfa % kWord == 0 && rule.cfa / kWord <= mask(kCfaBits) &&
                    rule.saved_below % kWord == 0 && rule.saved_below / kWord <= mask(kSavedBits);
  return fits ? rule : FrameRule{.kind = FrameRule::Kind::odd};
}

FrameRule learn(std::uintptr_t code) {
  const FrameRule rule = foreign_unwinder::learn(code);
  return fitting(rule);
}

// In a full set, the ways are replaced in turn, the oldest first.
void store(Set& set, std::uint64_t word, std::uint64_t tag) {
  for (std::atomic<std::uint64_t>& way : set.ways) {
    std::uint64_t empty = 0;
    if (way.compare_exchange_strong(empty, word, std::memory_order_relaxed)) return;
  }
  set.ways[tag % Set::kWays].store(word, std::memory_order_relaxed);
}

}  // namespace

void open(DlsymFunction real_dlsym) noexcept {
  if (is_open() || !foreign_unwinder::open(real_dlsym)) return;
  void* const pages = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages != MAP_FAILED) table.store(static_cast<Table*>(pages), std::memory_order_release);
}

bool is_open() noexcept { return table.load(std::memory_order_acquire) != nullptr; }

FrameRule rule_at(std::uintptr_t code) noexcept {
  if (code > mask(kAddressBits)) return learn(code);
  const std::uint64_t spread_code = spread(code);
  const std::uint64_t tag = spread_code & mask(kTagBits);
  Set& set = (*table.load(std::memory_order_relaxed))[spread_code >> kTagBits];
  for (const std::atomic<std::uint64_t>& way : set.ways) {
    const std::uint64_t word = way.load(std::memory_order_relaxed);
    if (word >> (64 - kTagBits) == tag && word != 0) [[likely]]
      return unpacked(word);
  }
  const FrameRule rule = learn(code);
  store(set, packed(tag, rule), tag);
  return rule;
}

void forget_all() noexcept {
  Table* const all = table.load(std::memory_order_acquire);
  if (all == nullptr) return;
  for (Set& set : *all) {
    for (std::atomic<std::uint64_t>& way : set.ways) {
      if (way.load(std::memory_order_relaxed) != 0) way.store(0, std::memory_order_relaxed);
    }
  }
}

}  // namespace vramscope::frame_rules
