// Takes out what a failure does not need.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/shrinking.h"

#include <algorithm>

namespace vramscope::differential {
namespace {

class Shrinker {
 public:
  Shrinker(Sequence sequence, const Fails& fails, int most)
      : best_(std::move(sequence)), fails_(fails), left_(most) {}

  Sequence run() {
    for (bool smaller = true; smaller && left_ > 0;) {
      smaller = drop_lines();
      smaller |= simplify([](Line& line) { line.thread = 0; });
      smaller |= simplify([](Line& line) { line.together = false; });
      smaller |= simplify([](Line& line) { line.way = Way::linked; });
      smaller |= shrink_sizes();
      smaller |= drop_settings();
    }
    return best_;
  }

 private:
  bool accept(const Sequence& candidate) {
    if (left_-- <= 0 || !fails_(candidate)) return false;
    best_ = candidate;
    return true;
  }

  // Halves, quarters and so on down to single lines, from the end.
  bool drop_lines() {
    const std::size_t before = best_.lines.size();
    for (std::size_t length = std::max<std::size_t>(1, before / 2);; length /= 2) {
      for (std::size_t end = best_.lines.size(); end > 0 && left_ > 0;) {
        const std::size_t begin = end > length ? end - length : 0;
        Sequence candidate = best_;
        candidate.lines.erase(candidate.lines.begin() + static_cast<std::ptrdiff_t>(begin),
                              candidate.lines.begin() + static_cast<std::ptrdiff_t>(end));
        static_cast<void>(accept(candidate));
        end = std::min(begin, best_.lines.size());
      }
      if (length <= 1) break;
    }
    return best_.lines.size() < before;
  }

  // The change to all lines at once, else to each alone.
  template <class Change>
  bool simplify(Change change) {
    const std::string before = text_of(best_);
    Sequence candidate = best_;
    for (Line& line : candidate.lines) change(line);
    if (text_of(candidate) == before) return false;
    if (accept(candidate)) return true;
    for (std::size_t i = 0; i < best_.lines.size() && left_ > 0; ++i) {
      candidate = best_;
      change(candidate.lines[i]);
      if (text_of(candidate.lines[i]) != text_of(best_.lines[i])) {
        static_cast<void>(accept(candidate));
      }
    }
    return text_of(best_) != before;
  }

  bool shrink_sizes() {
    const std::string before = text_of(best_);
    for (std::size_t i = 0; i < best_.lines.size(); ++i) {
      for (std::size_t w = 0; w < best_.lines[i].words.size() && left_ > 0; ++w) {
        const std::string word = best_.lines[i].words[w];
        const bool is_size = word.size() > 3 && word.find_first_not_of("0123456789") == word.npos;
        if (!is_size) continue;
        for (const char* smaller : {"512", "4096", "2097152"}) {
          if (word.size() <= std::string(smaller).size()) continue;
          Sequence candidate = best_;
          candidate.lines[i].words[w] = smaller;
          if (accept(candidate)) break;
        }
      }
    }
    return text_of(best_) != before;
  }

  bool drop_settings() {
    if (best_.simulator.empty()) return false;
    Sequence candidate = best_;
    candidate.simulator.clear();
    return accept(candidate);
  }

  Sequence best_;
  const Fails& fails_;
  int left_;
};

}  // namespace

Sequence shrink(Sequence sequence, const Fails& fails, int most) {
  return Shrinker(std::move(sequence), fails, most).run();
}

}  // namespace vramscope::differential
