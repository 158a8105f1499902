// Granules places allocations as a driver does: large ones in whole granules of 2 MiB, small ones
// in chunks of 2 MiB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "allocator/base/place.h"

namespace vramscope::simulator {

inline constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;  // page size of device memory
inline constexpr std::uint64_t kSmallAlignment = 512;              // seen since Kepler

// Allocations up to 1 MiB are packed into chunks of one granule, and none spans two chunks; larger
// ones have their own granules. This exactly explains what 256 equal allocations of twelve sizes
// took of the free memory of a driver 5xx (JustVugg/colibri, c/qwen38_tier.c).
inline constexpr std::uint64_t kMostInAChunk = std::uint64_t{1} << 20;
constexpr bool shares_a_granule(std::uint64_t bytes) { return bytes <= kMostInAChunk; }

inline constexpr std::uint64_t kHostPage = 4096;

// Returns the address of a host pointer.
inline Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

// The choice among several holes that are large enough for a small allocation.
enum class Fit : std::uint8_t { first, best };
// What happens to an empty chunk: it goes back to the device, or one or all of them stay for the
// next small allocations.
enum class EmptyChunks : std::uint8_t { given_back, one_kept, kept };
// What owns chunks: the device, or each context.
enum class ChunksOf : std::uint8_t { device, context };
// Where granules lie: in the first hole from the lowest address on; or in slabs of 32 MiB, each new
// one below the others, and in the smallest hole of a slab that is large enough.
enum class Placement : std::uint8_t { first_fit, slabs };

// The defaults are those of an H200's driver (OPEN.md). Other drivers may differ, so tests try each
// setting.
struct Footprint {
  Fit small_fit = Fit::best;
  EmptyChunks empty_chunks = EmptyChunks::given_back;
  ChunksOf chunks_of = ChunksOf::context;
  Placement placement = Placement::first_fit;  // no driver's: tests want small distances
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

// Returns the number of addresses of a device with this many bytes, a multiple of 2 MiB. A small
// device has so many that holes between live allocations never look like exhaustion (first fit
// needs log2(largest / smallest allocation) times the live bytes: J. M. Robson, 1977); a large one
// has two for each byte.
constexpr std::uint64_t addresses_for(std::uint64_t capacity) {
  constexpr std::uint64_t kMany = std::uint64_t{32} << 30;  // valgrind has no room for 64 GiB
  const std::uint64_t whole = round_up(capacity, kGranule);
  return std::max(2 * whole, std::min(16 * whole, kMany));
}

inline constexpr std::uint64_t kDeviceItself = 0;  // as the owner of chunks

// Allocates in a range of addresses; freed addresses are reused. Threads: one at a time; the owner
// locks.
class Granules {
 public:
  using Owner = std::uint64_t;  // kDeviceItself, or a context that has chunks of its own

  // At most `capacity` bytes are live, in whole granules at `base` and above.
  Granules(Address base, std::uint64_t capacity, Footprint footprint = {});

  // Returns the start of `bytes` > 0 bytes, or nothing if too few granules are free.
  [[nodiscard]] std::optional<Address> take(std::uint64_t bytes, Owner owner = kDeviceItself);
  // `bytes` must be the size that was passed to take().
  void give(Address start, std::uint64_t bytes);
  // Gives back the empty chunks that were kept for an owner that ends.
  void end(Owner owner);

  [[nodiscard]] std::uint64_t used_bytes() const { return used_; }

  using Ranges = std::map<Address, std::uint64_t>;  // start -> bytes; ranges never touch each other
  static std::optional<Address> first_fit(Ranges& ranges, std::uint64_t bytes);
  static std::optional<Address> best_fit(Ranges& ranges, std::uint64_t bytes);
  static void put_back(Ranges& ranges, Address start, std::uint64_t bytes);

 private:
  struct Chunk {
    Owner owner = kDeviceItself;
    Ranges free;
    [[nodiscard]] bool is_empty() const {
      return !free.empty() && free.begin()->second == kGranule;
    }
  };
  using Chunks = std::map<Address, Chunk>;

  std::optional<Address> take_granules(std::uint64_t bytes);
  std::optional<Address> take_in_slabs(std::uint64_t bytes);
  std::optional<Address> take_in_chunks(std::uint64_t bytes, Owner owner);
  // Cuts the first `bytes` off a range.
  static Address cut(Ranges& ranges, Ranges::iterator range, std::uint64_t bytes);
  [[nodiscard]] bool is_kept(const Chunk& empty) const;
  Chunks::iterator give_back(Chunks::iterator chunk);

  const std::uint64_t capacity_;
  const Footprint footprint_;
  std::uint64_t used_ = 0;
  Ranges free_granules_;
  Address untouched_from_;  // below the slabs
  Address untouched_to_;
  Chunks chunks_;
};

}  // namespace vramscope::simulator
