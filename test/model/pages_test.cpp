// Random requests served by the allocator over pages and by its naive judge: every address, every
// free block and every page must be the same.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.h"
#include "test/model/naive_pages.h"
#include "test/simulator/device/simulated_backend.h"
#include "test/simulator/device/simulated_device.h"

namespace vramscope {
namespace {

using Rules = NaivePages::Rules;

constexpr std::uint64_t kCapacity = std::uint64_t{16} << 30;
constexpr std::uint64_t kMostLive = std::uint64_t{4} << 30;

// Sizes in steps of a power of two from `least` to `most`, as logarithms.
struct Sizes {
  const char* name;
  unsigned least, most;
};
constexpr Sizes kSizes[] = {{"small", 6, 19}, {"mixed", 6, 26}, {"large", 20, 27}};

class Pages : public testing::TestWithParam<std::tuple<Rules, Sizes, unsigned>> {
 protected:
  Pages() {
    const bool is_ours = std::get<0>(GetParam()) == Rules::ours;
    allocator_.set_limits({.expandable_segments = !is_ours, .growing_segments = is_ours});
    random_.seed(std::get<2>(GetParam()));
  }

  std::uint64_t size() {
    const Sizes sizes = std::get<1>(GetParam());
    const unsigned log =
        sizes.least + static_cast<unsigned>(random_() % (sizes.most - sizes.least));
    return (std::uint64_t{1} << log) + random_() % (std::uint64_t{1} << log);
  }

  void take() {
    const std::uint64_t bytes = size();
    const Outcome out = allocator_.allocate({.where = {}, .bytes = bytes});
    ASSERT_TRUE(out.status.ok());
    ASSERT_EQ(out.address, judge_.allocate(bytes)) << bytes << " bytes";
    live_.push_back({out.address, out.rounded});
    held_ += out.rounded;
  }

  void give() {
    std::swap(live_[random_() % live_.size()], live_.back());
    ASSERT_TRUE(allocator_.free(live_.back().first).status.ok());
    judge_.free(live_.back().first);
    held_ -= live_.back().second;
    live_.pop_back();
  }

  std::map<Address, std::uint64_t> free_blocks() const {
    std::map<Address, std::uint64_t> all;
    const Snapshot now = allocator_.snapshot();
    for (const BlockSnapshot& block : now.blocks) {
      if (block.state == BlockState::inactive) all[block.address] = block.size;
    }
    return all;
  }

  void compare() {
    DeviceStatistics counted;
    if (!allocator_.read_statistics(0, counted)) return;
    ASSERT_EQ(static_cast<std::uint64_t>(counted.reserved_bytes.all.current), judge_.reserved());
    ASSERT_EQ(backend_.mapped_pages(), judges_backend_.mapped_pages());
    ASSERT_EQ(backend_.reserved_ranges(), judges_backend_.reserved_ranges());
    ASSERT_EQ(allocator_.idle_bytes(0), judge_.idle());
    ASSERT_EQ(free_blocks(), judge_.free_pieces());
    ASSERT_EQ(allocator_.check_invariants(), "");
  }

  std::mt19937_64 random_;
  simulator::SimulatedDevice device_{{.capacity = kCapacity}},
      judges_device_{{.capacity = kCapacity}};
  simulator::SimulatedBackend backend_{device_}, judges_backend_{judges_device_};
  CachingAllocator allocator_{backend_, {}};
  NaivePages judge_{judges_backend_, std::get<0>(GetParam())};
  std::vector<std::pair<Address, std::uint64_t>> live_;
  std::uint64_t held_ = 0;
};

// Phases of growth and of shrinking, so that there is much to move.
TEST_P(Pages, EveryAddressAndPageIsTheJudges) {
  for (int i = 0; i < 1200; ++i) {
    const unsigned share = i / 100 % 2 == 0 ? 30 : 60;
    if (!live_.empty() && (random_() % 100 < share || held_ > kMostLive)) {
      give();
    } else {
      take();
    }
    if (i % 301 == 300) {
      allocator_.trim();
      judge_.trim();
    }
    if (!HasFatalFailure() && i % 10 == 0) compare();
    if (HasFatalFailure()) FAIL() << "step " << i;
  }
  EXPECT_EQ(backend_.misuses() + judges_backend_.misuses(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Pages,
                         testing::Combine(testing::Values(Rules::pytorch, Rules::ours),
                                          testing::ValuesIn(kSizes), testing::Range(1U, 13U)),
                         [](const auto& test) {
                           const bool is_ours = std::get<0>(test.param) == Rules::ours;
                           return std::string(is_ours ? "growing" : "expandable") + "_" +
                                  std::get<1>(test.param).name + "_" +
                                  std::to_string(std::get<2>(test.param));
                         });

}  // namespace
}  // namespace vramscope
