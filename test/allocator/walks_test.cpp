// Walks over many segments let others in, and do not mind what those do.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.h"

namespace vramscope::test {
namespace walks_test {

constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
constexpr int kSegments = 10000;
constexpr int kMostSteps = 4096;  // under the lock, between two questions to the backend

// Counts the questions whether it may be waited for: the lock is free while one is asked.
class Asked : public Backend {
 public:
  Grant reserve(Place, std::size_t bytes) noexcept override {
    const Grant grant{.status = {}, .address = next_};
    next_ += (bytes + kPage - 1) / kPage * kPage;
    return grant;
  }
  Reply release(Place, Address) noexcept override {
    ++released;
    return {};
  }
  Reply wait(Place) noexcept override { return {}; }
  Reply probe(Place) noexcept override { return {}; }
  bool may_wait(Place) noexcept override {
    ++asked;
    if (on_question) std::exchange(on_question, {})();
    return may;
  }
  std::uint64_t total_bytes(Place) noexcept override { return kSegments * kPage; }

  int asked = 0;
  int released = 0;
  bool may = true;
  std::function<void()> on_question;  // once

 private:
  Address next_ = 0x7f0000000000;
};

class Walks : public testing::Test {
 protected:
  // The device is full of segments, and a hundredth of it may lie idle.
  Walks() : allocator_(backend_, {.policy = Policy::native_safe, .idle_share = 0.01}) {
    for (int i = 0; i < kSegments; ++i) held_.push_back(address_of(kPage));
  }
  Address address_of(std::uint64_t bytes) {
    const Outcome out = allocator_.allocate({.where = {}, .bytes = bytes});
    EXPECT_TRUE(out.status.ok());
    return out.address;
  }
  void free_last() {
    ASSERT_TRUE(allocator_.free(held_.back()).status.ok());
    held_.pop_back();
  }
  // Frees until some would go back with the next one.
  void fill() {
    while (allocator_.idle_bytes(0) + kPage <= kSegments * kPage / 100) free_last();
    ASSERT_EQ(backend_.released, 0);
  }

  Asked backend_;
  CachingAllocator allocator_;
  std::vector<Address> held_;
};

// Each pass over all segments held the lock for milliseconds on a large device.
TEST_F(Walks, OverOldSegmentsPauseAfterSoMany) {
  fill();
  const int before = backend_.asked;

  free_last();

  ASSERT_GT(backend_.released, 0);
  const int pauses = backend_.asked - before - backend_.released;
  EXPECT_GE(pauses, 2 * (kSegments / kMostSteps));  // a pass to find the mean, and one to give back
  EXPECT_EQ(allocator_.check_invariants(), "");
}

TEST_F(Walks, GoOnWhenOthersTakeWhatWasIdle) {
  fill();
  backend_.on_question = [&] {    // before the first pass
    backend_.on_question = [&] {  // amid it
      while (allocator_.idle_bytes(0) > 0) held_.push_back(address_of(kPage));
    };
  };

  free_last();

  EXPECT_EQ(backend_.released, 0);
  EXPECT_EQ(allocator_.check_invariants(), "");
}

TEST_F(Walks, EndWhenThePlaceDoes) {
  fill();
  backend_.on_question = [&] { backend_.on_question = [&] { allocator_.forget_place({}); }; };

  EXPECT_TRUE(allocator_.free(held_.back()).status.ok());

  EXPECT_EQ(backend_.released, 0);
  EXPECT_EQ(allocator_.idle_bytes(0), 0u);
  EXPECT_EQ(allocator_.check_invariants(), "");
}

TEST_F(Walks, EndWhenACaptureBegins) {
  fill();
  backend_.on_question = [&] { backend_.on_question = [&] { backend_.may = false; }; };

  free_last();

  EXPECT_EQ(backend_.released, 0);
  EXPECT_EQ(allocator_.check_invariants(), "");
}

}  // namespace walks_test
}  // namespace vramscope::test
