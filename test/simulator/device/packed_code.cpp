// Calls liblz4 and libzstd. They are loaded only when a program's code needs them: few do.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/packed_code.h"

#include <dlfcn.h>

#include <climits>
#include <cstddef>

namespace vramscope::simulator {

namespace {

constexpr std::uint64_t kLz4 = 0x2000;
constexpr std::uint64_t kZstd = 0x8000;

// Both take what is packed and the room for what comes out. Null: the system has no such library.
using Lz4 = int (*)(const char* packed, char* to, int packed_bytes, int room);
using Zstd = std::size_t (*)(void* to, std::size_t room, const void* packed, std::size_t bytes);

template <class Function>
Function function_in(const char* library, const char* name) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return opened == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(opened, name));
}

std::size_t unpack_lz4(std::string_view packed, std::string& to) {
  static const auto call = function_in<Lz4>("liblz4.so.1", "LZ4_decompress_safe");
  if (call == nullptr || packed.size() > INT_MAX) return 0;
  const int written =
      call(packed.data(), to.data(), static_cast<int>(packed.size()), static_cast<int>(to.size()));
  return written < 0 ? 0 : static_cast<std::size_t>(written);
}

// An error is a number near the largest, which no length equals.
std::size_t unpack_zstd(std::string_view packed, std::string& to) {
  static const auto call = function_in<Zstd>("libzstd.so.1", "ZSTD_decompress");
  return call == nullptr ? 0 : call(to.data(), to.size(), packed.data(), packed.size());
}

}  // namespace

PackedBy packing_of(std::uint64_t flags) {
  if ((flags & kLz4) != 0) return PackedBy::lz4;
  return (flags & kZstd) != 0 ? PackedBy::zstd : PackedBy::nothing;
}

std::string unpacked(PackedBy by, std::string_view packed, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  if (bytes == 0 || bytes > kMost) return {};
  std::string whole(bytes, '\0');
  const std::size_t written =
      by == PackedBy::lz4 ? unpack_lz4(packed, whole) : unpack_zstd(packed, whole);
  return written == bytes ? whole : std::string();
}

}  // namespace vramscope::simulator
