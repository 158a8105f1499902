// Plays a trace of allocations on the simulated device and prints what the allocator answers: the
// judge of "exactly PyTorch's". Trace on standard input; its format and the lines printed are those
// of the golden traces in test/golden.
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.h"
#include "interpose/settings/alloc_conf.h"
#include "test/allocator/golden_lines.h"
#include "test/simulator/device/simulated_backend.h"
#include "test/simulator/device/simulated_device.h"

namespace {

using namespace vramscope;

constexpr Place kDevice0{};
constexpr Place kPinned{.kind = Kind::pinned};

// A line that cannot be played; the message says what was expected.
struct BadLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The words of one line, taken from the left.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view next() {
    const auto start = rest_.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) return {};
    rest_.remove_prefix(start);
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(word.size());
    return word;
  }

  template <class Number>
  Number number(const char* what) {
    const std::string_view word = next();
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) {
      throw BadLine(std::string(what) + " expected, found '" + std::string(word) + "'");
    }
    return value;
  }

  std::string_view rest() { return std::exchange(rest_, {}); }

  void end() {
    const std::string_view word = next();
    if (!word.empty()) throw BadLine("end of line expected, found '" + std::string(word) + "'");
  }

 private:
  std::string_view rest_;
};

class Player {
 public:
  Player(Place place, bool digest, ReuseTime reuse, std::string_view settings)
      : place_(place), digest_(digest) {
    limits_.reuse = reuse;
    apply(settings);
  }

  void play(std::string_view line) {
    Words words(line);
    const std::string_view op = words.next();
    if (op.empty() || op.front() == '#') return;
    if (op == "c") {
      if (allocator_) throw BadLine("the capacity comes before every other line");
      capacity_ = words.number<std::uint64_t>("capacity in bytes");
      return words.end();
    }
    start();
    const std::string_view known = place_ == kDevice0 ? "afFkopresm" : "afkes";
    if (op.size() != 1 || known.find(op) == std::string_view::npos) {
      throw BadLine("unknown operation '" + std::string(op) + "'");
    }
    play(op.front(), words);
    if (digest_) std::cout << "d " << test::digest(values()) << '\n';
  }

 private:
  void start() {
    if (allocator_) return;
    device_.emplace(simulator::DeviceModel{.capacity = capacity_});
    backend_.emplace(*device_);
    allocator_.emplace(*backend_, limits_);
    allocator_->open(place_);
  }

  void play(char op, Words& words) {
    switch (op) {
      case 'a':
        return allocate(words);
      case 'f':
        return free(words);
      case 'F':
        return set_fraction(words);
      case 'k':
        device_->fail_call(words.number<std::uint64_t>("number of calls"));
        return words.end();
      case 'o':
        return change_settings(words);
      default:
        break;
    }
    words.end();
    switch (op) {
      case 'p':
        return allocator_->reset_peaks();
      case 'r':
        return allocator_->reset_accumulated();
      case 'e':
        return place_ == kDevice0 ? allocator_->trim() : void(allocator_->trim_pinned(place_));
      case 's':
        std::cout << test::values_line(values()) << '\n';
        return;
      case 'm':
        std::cout << test::snapshot_line(allocator_->snapshot()) << '\n';
        return;
      default:
        throw BadLine(std::string("unknown operation '") + op + "'");
    }
  }

  void allocate(Words& words) {
    const auto id = words.number<std::uint64_t>("allocation id");
    const auto bytes = words.number<std::uint64_t>("size in bytes");
    words.end();
    std::cout << "a " << id;
    if (bytes == 0) {
      std::cout << " 0x0\n";
      return;
    }
    const Outcome out = allocator_->allocate({.where = place_, .bytes = bytes});
    if (out.status.result == Result::failed) throw std::runtime_error("the allocator failed");
    if (!out.status.ok()) {
      std::cout << " oom\n";
      return;
    }
    live_[id] = out.address;
    std::cout << " 0x" << std::hex << out.address << std::dec << '\n';
  }

  void free(Words& words) {
    const auto id = words.number<std::uint64_t>("allocation id");
    words.end();
    const auto it = live_.find(id);
    if (it == live_.end()) return;
    if (!allocator_->free(it->second).status.ok()) throw std::runtime_error("a free was refused");
    live_.erase(it);
  }

  // A wrong setting would have ended PyTorch's program; one that is not served yet would give other
  // answers. Neither is passed over.
  void apply(std::string_view settings) {
    const AllocConf conf = parse_alloc_conf(settings, limits_);
    if (!conf.problems.empty()) throw BadLine(conf.problems.front());
    for (const std::string& note : conf.notes) std::cerr << "allocator_player: " << note << '\n';
    limits_ = conf.limits;
  }

  void change_settings(Words& words) {
    apply(words.rest());
    allocator_->set_limits(limits_);
  }

  void set_fraction(Words& words) {
    limits_.memory_fraction = words.number<double>("fraction");
    words.end();
    if (!(limits_.memory_fraction >= 0 && limits_.memory_fraction <= 1)) {
      throw BadLine("a fraction is between 0 and 1");
    }
    allocator_->set_limits(limits_);
  }

  // What `s` prints: of the device what the allocator counts, of the host what its backend saw.
  test::Values values() const {
    if (place_ == kDevice0) {
      return test::values_of(allocator_->snapshot().devices.front().statistics);
    }
    const simulator::Counters seen = device_->counters();
    return {{"backend.calls", seen.calls},
            {"backend.failed", seen.failed},
            {"backend.frees", seen.frees},
            {"backend.live_bytes", seen.live_bytes},
            {"backend.live_count", seen.live_count}};
  }

  Place place_;
  bool digest_;
  std::uint64_t capacity_ = std::uint64_t{16} << 30;
  Limits limits_{.exact_fallback = false};  // PyTorch has none
  std::optional<simulator::SimulatedDevice> device_;
  std::optional<simulator::SimulatedBackend> backend_;
  std::optional<CachingAllocator> allocator_;
  std::unordered_map<std::uint64_t, Address> live_;
};

int refuse(const std::string& message) {
  std::cout.flush();
  std::cerr << "allocator_player: " << message << '\n';
  return 2;
}

int play(Player& player) {
  std::string line;
  for (std::uint64_t number = 1; std::getline(std::cin, line); ++number) {
    try {
      player.play(line);
    } catch (const std::exception& error) {
      return refuse("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Place place = kDevice0;
  bool digest = false;
  ReuseTime reuse = ReuseTime::at_free;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag != "--digest" && flag != "--host" && flag != "--at-reuse") {
      return refuse("unknown flag '" + std::string(flag) + "'");
    }
    if (flag == "--host") place = kPinned;
    if (flag == "--digest") digest = true;
    if (flag == "--at-reuse") reuse = ReuseTime::at_reuse;
  }
  std::ios::sync_with_stdio(false);
  const char* settings = std::getenv("VRAMSCOPE_ALLOC_CONF");
  try {
    Player player(place, digest, reuse, settings ? settings : "");
    return play(player);
  } catch (const std::exception& error) {
    return refuse(std::string("VRAMSCOPE_ALLOC_CONF: ") + error.what());
  }
}
