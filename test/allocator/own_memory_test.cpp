// Our own memory runs out, at the first call for it, the second, the third…: a call that cannot be
// recorded answers so, changes nothing, and the next one works again.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "test/allocator/allocator_fixture.h"

namespace {

std::uint64_t fail_in = 0;  // calls for memory until one fails; 0: none does
bool has_failed = false;

bool fails() {
  if (fail_in == 0 || --fail_in != 0) return false;
  has_failed = true;
  return true;
}

}  // namespace

// All that the allocator gets memory by: the linker sends its calls here (meson.build).
extern "C" {
void* __real_mmap(void*, std::size_t, int, int, int, long);
void* __real_mremap(void*, std::size_t, std::size_t, int);
void* __wrap_mmap(void* at, std::size_t bytes, int access, int flags, int file, long offset) {
  if (fails()) return errno = ENOMEM, MAP_FAILED;
  return __real_mmap(at, bytes, access, flags, file, offset);
}
// What mmap is called where file offsets have 64 bits.
[[gnu::alias("__wrap_mmap")]] void* __wrap_mmap64(void*, std::size_t, int, int, int, long);
void* __wrap_mremap(void* pages, std::size_t bytes, std::size_t wanted, int flags) {
  if (fails()) return errno = ENOMEM, MAP_FAILED;
  return __real_mremap(pages, bytes, wanted, flags);
}
}

void* operator new(std::size_t bytes) {
  void* memory = fails() ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return fails() ? nullptr : std::malloc(bytes);
}
// Not inlined: the compiler would miss the operator new that belongs to it.
[[gnu::noinline]] static void give_back(void* memory) { std::free(memory); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }

namespace vramscope::test {
namespace {

constexpr Place kPinned{.kind = Kind::pinned, .context = 1};

// A backend that needs no memory of its own: addresses only grow.
class Endless final : public Backend {
 public:
  Grant reserve(Place, std::size_t bytes) noexcept override {
    ++held;
    const Address address = next_;
    next_ += round_up(bytes, kGranularity);
    return {{}, address, 0};
  }
  Reply release(Place, Address) noexcept override {
    --held;
    return {};
  }
  Reply wait(Place) noexcept override { return {}; }
  Reply probe(Place) noexcept override { return {}; }
  bool may_wait(Place) noexcept override { return true; }
  std::uint64_t total_bytes(Place) noexcept override { return 1ull << 40; }

  int held = 0;

 private:
  Address next_ = 0x7f0000000000;
};

// Blocks of every sort, more tags and blocks than the first tables hold; what failed is counted.
int play(CachingAllocator& allocator, std::vector<Address>& live) {
  int unrecorded = 0;
  live.clear();
  const auto note = [&](const Outcome& out) {
    if (out.status.ok()) return live.push_back(out.address);
    EXPECT_EQ(out.status, (Status{Result::failed, 0}));
    ++unrecorded;
  };
  for (Tag tag = 0; tag < 6000; ++tag) {
    note(allocator.allocate({.where = kDevice0, .bytes = 600, .tag = tag}));
  }
  for (Tag tag = 0; tag < 3; ++tag) {
    note(allocator.allocate({.where = kOtherContext, .bytes = 3 * kMiB, .tag = tag}));
    note(allocator.allocate({.where = kPinned, .bytes = 4096u << tag, .tag = tag}));
    note(allocator.allocate({.where = kDevice0, .bytes = 5000, .tag = tag, .dedicated = true}));
    const Address direct = 0x1000'0000 + tag * kMiB;
    const Outcome adopted = allocator.adopt(kDevice0, direct, 4096, tag);
    unrecorded += !adopted.status.ok();
    EXPECT_EQ(allocator.forget(direct).status.ok(), adopted.status.ok());
  }
  for (const Address address : live) EXPECT_TRUE(allocator.free(address).status.ok());
  allocator.trim();
  allocator.trim_pinned(kPinned);
  return unrecorded;
}

TEST(OwnMemory, ACallThatCannotBeRecordedIsToldAndTheNextOnesWork) {
  std::vector<Address> live;
  live.reserve(20000);
  std::uint64_t ladder = 0;
  for (bool more = true; more; ++ladder) {
    Endless backend;
    {
      CachingAllocator allocator(backend, {});
      has_failed = false;
      fail_in = ladder + 1;
      const int unrecorded = play(allocator, live);
      fail_in = 0;
      more = has_failed;

      EXPECT_LE(unrecorded, has_failed ? 1 : 0) << "at call " << ladder + 1;
      EXPECT_EQ(allocator.check_invariants(), "") << "at call " << ladder + 1;
      EXPECT_EQ(play(allocator, live), 0) << "at call " << ladder + 1;
    }
    EXPECT_EQ(backend.held, 0) << "at call " << ladder + 1;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(ladder, 20u);  // tables, maps and places all ask for memory
}

}  // namespace
}  // namespace vramscope::test
