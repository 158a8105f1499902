// Makes sequences that fill a small device: what fits there without us must fit with us.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "test/differential/sequence.h"

namespace vramscope::differential {

// About `calls` lines; the same seed gives the same sequence, whatever the machine. Each seed has
// its own device: capacity, what the driver keeps, and how it packs small allocations.
[[nodiscard]] Sequence generate_for_room(std::uint64_t seed, std::size_t calls);

class RoomGenerator {
 public:
  RoomGenerator(std::uint64_t seed, std::size_t calls);
  [[nodiscard]] Sequence make();

 private:
  using Names = std::vector<std::string>;

  // Of equal chance, below `count`.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T, std::size_t N>
  const T& one_of(const T (&list)[N]) {
    return list[below(N)];
  }

  std::uint64_t size();
  std::uint64_t near(std::uint64_t bytes);
  // What the generator thinks that is left natively; it does not know of refusals.
  [[nodiscard]] std::uint64_t left() const;

  void emit(std::string verb, std::vector<std::string> words);
  std::string allocate(std::uint64_t bytes);
  void end(const std::string& name);
  void end_some(Names names);

  [[nodiscard]] std::size_t most_in_a_phase();

  void begin();
  void fill();
  void pairs();
  void end_phase();
  void large();
  void single();
  void beside();
  void context();
  void array();
  void ordered();
  void physical();
  void module();
  void graph();

  std::mt19937_64 random_;
  const std::size_t calls_;
  Sequence sequence_;
  std::uint64_t capacity_ = 0;
  std::size_t made_ = 0;    // names so far
  bool has_graph_ = false;  // one at a time
  std::uint64_t used_ = 0;  // by what is live, each as the driver rounds it
  struct Live {
    std::string verb;  // that ends it
    std::uint64_t bytes = 0;
    std::size_t context = 0;
  };
  std::map<std::string, Live> live_;
  std::vector<std::size_t> contexts_ = {0};
  std::size_t current_ = 0;
  std::size_t modules_ = 0;
};

}  // namespace vramscope::differential
