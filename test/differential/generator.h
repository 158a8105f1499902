// Makes a sequence from a seed: random calls that mostly make sense, and some that do not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/differential/sequence.h"

namespace vramscope::differential {

// About `calls` lines; the same seed gives the same sequence, whatever the machine.
[[nodiscard]] Sequence generate(std::uint64_t seed, std::size_t calls);

// What the generator believes to be there. It may be wrong after a call that failed: the player
// skips what does not make sense then.
class Generator {
 public:
  Generator(std::uint64_t seed, std::size_t calls);
  [[nodiscard]] Sequence make();

 private:
  struct Action {
    unsigned weight;
    void (Generator::*emit)();
  };
  struct Mapping {
    std::string range;
    std::string physical;
    std::uint64_t bytes = 0;
  };

  // Of equal chance, below `count`.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class T, std::size_t N>
  const T& one_of(const T (&list)[N]) {
    return list[below(N)];
  }
  static const std::string& name_in(const std::string& name) { return name; }
  template <class Value>
  static const std::string& name_in(const std::pair<const std::string, Value>& entry) {
    return entry.first;
  }
  // One of the names, or none.
  template <class Names>
  std::string pick(const Names& names) {
    if (names.empty()) return "";
    return name_in(*std::next(names.begin(), static_cast<std::ptrdiff_t>(below(names.size()))));
  }
  // A name that is not there yet, or none.
  template <class Names>
  std::string pick_new(const Names& names, const char* letter, std::size_t count) {
    const std::string chosen = name(letter, count);
    return names.contains(chosen) ? "" : chosen;
  }
  std::string name(const char* letter, std::size_t count) {
    return letter + std::to_string(below(count));
  }
  std::uint64_t size();
  std::string offset();
  Way way();
  int thread() { return static_cast<int>(below(threads_)); }
  std::string stream_or_default();
  std::string stream_or_now() { return chance(30) ? "now" : stream_or_default(); }

  void emit(int thread, std::string verb, std::vector<std::string> words, Way way = Way::linked);
  void emit(std::string verb, std::vector<std::string> words) {
    emit(thread(), std::move(verb), std::move(words), way());
  }
  void end_context(const std::string& context);
  void end_capture();
  void map_all();
  void map(const std::string& range);
  void unmap(const std::string& mapping);
  void release(const std::string& physical);
  void retain(const std::string& mapping);
  void one_of_many(int thread);
  enum class Racer : std::uint8_t { reuses, records, visits, waits };
  void race_as(Racer role, int thread);
  void reuse_in_race(int thread);
  void run_together(std::size_t from) {
    for (; from < sequence_.lines.size(); ++from) sequence_.lines[from].together = true;
  }
  void record_in_race(int thread);
  void work_in_race(int thread, const std::string& stream);
  void end_amid_calls();

  void begin();
  void choose_actions();
  void finish();

  void allocate();
  void free_memory();
  void free_wrongly();
  void allocate_other_kinds();
  void query();
  void write();
  void copy();
  void copy_and_free();
  void check();
  void pin();
  void unpin();
  void register_host();
  void ask_host();
  void stream();
  void wait();
  void context();
  void use_context();
  void peers();
  void reset();
  void capture();
  void graph();
  void node();
  void pool();
  void virtual_memory();
  void report();
  void child();
  void together();
  void race();
  void race_with_pending();
  void race_of_own_streams();
  void race_with_begin();
  void race_with_reset();
  void fault();
  void trim();
  void share();
  void refuse();

  static const char* packing_of(std::uint64_t seed);

  const std::uint64_t seed_;
  std::mt19937_64 random_;
  const std::size_t calls_;
  const bool races_;  // several threads, on slow devices
  Sequence sequence_;
  std::vector<Action> actions_;
  unsigned all_weights_ = 0;
  std::size_t threads_ = 1;
  std::size_t devices_ = 1;
  std::size_t delay_us_ = 1;  // of the device, where threads race
  bool shares_ = false;
  unsigned frees_in_order_ = 0;  // percent of the frees of plain memory
  bool meets_contexts_ = false;  // threads at the same time make and destroy contexts
  std::size_t slots_ = 16;
  std::uint64_t favourite_ = 4096;  // a size that comes again and again
  std::set<std::string> memories_, pinned_, registered_, streams_, events_, graphs_, executables_,
      pools_, arrays_, pooled_;
  std::set<std::string> written_;
  std::map<std::string, std::size_t> contexts_;              // and their devices
  std::map<std::string, std::uint64_t> physicals_, ranges_;  // and their bytes
  std::map<std::string, Mapping> mappings_;                  // of what those name
  std::string capturing_;                                    // a stream, or empty
  int capturing_thread_ = 0;
  bool ended_ = false;
};

}  // namespace vramscope::differential
