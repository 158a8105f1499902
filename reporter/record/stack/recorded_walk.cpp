// Follows the rules of frames from the door on.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/recorded_walk.h"

#include <atomic>
#include <utility>

#include "reporter/record/stack/frame_rules.h"
#include "reporter/record/stack/loaded_counts.h"
#include "reporter/record/stack/own_text.h"
#include "reporter/record/stack/safe_read.h"

namespace vramscope::recorded_walk {

namespace {

// A frame that is farther from the door than this lies on no stack that we can read.
constexpr std::uintptr_t kLargestStack = std::uintptr_t{1} << 30;
// No code lies below this address.
constexpr std::uintptr_t kLowestCode = 0x4000;
constexpr std::uintptr_t kWord = sizeof(std::uintptr_t);
constexpr std::size_t kMostSteps = 4 * kMaxFrames;  // includes our frames between those of the
                                                    // program

// Is set once, before any walk.
constinit TextRange own;

// The position of a walk, and its record of the words that it read.
class Walk {
 public:
  Walk(const Door& door, Walked* walked)
      : door_(door),
        walked_(walked),
        code_(door.return_address),
        stack_pointer_(door.slot + kWord),
        frame_pointer_(door.frame_pointer) {}

  [[nodiscard]] std::uintptr_t code() const { return code_; }
  [[nodiscard]] bool note_door() { return note(door_.slot, code_); }

  enum class Step : std::uint8_t { taken, end, odd };
  Step step() {
    const FrameRule rule = frame_rules::rule_at(code_);
    if (rule.kind == FrameRule::Kind::last) return Step::end;
    std::uintptr_t cfa = 0;
    if (!find_cfa(rule, cfa)) return Step::odd;
    const bool is_above = cfa > stack_pointer_ && cfa - door_.slot < kLargestStack;
    if (!is_above || cfa % kWord != 0 || !read(cfa - kWord, code_)) return Step::odd;
    if (rule.kind == FrameRule::Kind::by_frame_word) {
      saved_at_ = frame_pointer_;
    } else if (rule.saved_below != 0) {
      saved_at_ = cfa - rule.saved_below;
    }
    stack_pointer_ = cfa;
    return code_ < kLowestCode ? Step::end : Step::taken;
  }

 private:
  bool find_cfa(const FrameRule& rule, std::uintptr_t& cfa) {
    if (rule.kind == FrameRule::Kind::by_stack_pointer) {
      cfa = stack_pointer_ + rule.cfa;
      return true;
    }
    if (rule.kind == FrameRule::Kind::odd || !find_frame_pointer()) return false;
    if (rule.kind == FrameRule::Kind::by_frame_word) return read(frame_pointer_ - rule.cfa, cfa);
    cfa = frame_pointer_ + rule.cfa;
    return true;
  }

  // The saved frame pointer is read only when a frame is found by it: most of these words hold data
  // on which no walk depends.
  bool find_frame_pointer() {
    if (saved_at_ == 0) {
      if (walked_ != nullptr && !is_read_) walked_->needs_frame_pointer = true;
      return true;
    }
    is_read_ = true;
    return read(std::exchange(saved_at_, 0), frame_pointer_);
  }

  bool read(std::uintptr_t address, std::uintptr_t& value) {
    const bool is_above = address >= door_.slot && address - door_.slot < kLargestStack;
    if (!is_above || address % kWord != 0) return false;
    if (address >> safe_read::kPageShift != page_) {
      if (!safe_read::covers(address, kWord)) return false;
      page_ = address >> safe_read::kPageShift;
    }
    value = safe_read::at<std::uintptr_t>(address);
    return note(address, value);
  }

  bool note(std::uintptr_t address, std::uintptr_t value) {
    return walked_ == nullptr || walked_->add({address, value});
  }

  const Door& door_;
  Walked* const walked_;  // null: no record is wanted
  std::uintptr_t code_;
  std::uintptr_t stack_pointer_;
  std::uintptr_t frame_pointer_;
  std::uintptr_t saved_at_ = 0;  // where the frame pointer must be read; 0: it is known
  bool is_read_ = false;         // the frame pointer is no longer the door's
  std::uintptr_t page_ = 0;      // the last page that was confirmed
};

constexpr std::uint32_t kWalksBetweenChecks = 1024;
__attribute__((tls_model("initial-exec"))) thread_local constinit std::uint32_t walks = 0;
constinit std::atomic<std::uint64_t> unloaded{0};
constinit std::atomic<std::uint32_t> rules_now{1};

// Rules of unloaded code are invalid. This is checked as rarely as known stacks are.
void check_objects() {
  if (++walks % kWalksBetweenChecks != 0) return;
  const std::uint64_t now = count_loaded().subs;
  if (unloaded.exchange(now, std::memory_order_relaxed) != now) forget_rules();
}

}  // namespace

void open(DlsymFunction real_dlsym) noexcept {
  own = text_range_of(reinterpret_cast<const void*>(&open));
  frame_rules::open(real_dlsym);
}

// The number changes first: a walk at this time has the old number or the new rules.
void forget_rules() noexcept {
  rules_now.fetch_add(1, std::memory_order_acq_rel);
  frame_rules::forget_all();
}

bool is_outdated(const Stack& stack) noexcept {
  return stack.rules != 0 && stack.rules != rules_now.load(std::memory_order_acquire);
}

bool walk(const Door& door, std::size_t wanted, Stack& stack) noexcept {
  if (!frame_rules::is_open()) return false;
  check_objects();
  stack.rules = rules_now.load(std::memory_order_acquire);
  safe_read::begin_walk();
  Walk walk(door, nullptr);
  std::size_t depth = 0;
  auto step = Walk::Step::taken;
  for (std::size_t i = 0; i < kMostSteps && step == Walk::Step::taken; ++i) {
    if (!own.contains(walk.code() - 1)) {
      stack.frames[depth++] = walk.code();
      if (depth == wanted) break;
    }
    step = walk.step();
  }
  stack.depth = depth;
  return step != Walk::Step::odd;
}

bool take(const Door& door, std::span<const std::uintptr_t> expected, bool ends,
          Walked& walked) noexcept {
  walked.begin();
  if (!frame_rules::is_open()) return false;
  Walk walk(door, &walked);
  if (!walk.note_door()) return false;
  std::size_t depth = 0;
  auto step = Walk::Step::taken;
  for (std::size_t i = 0; i < kMostSteps && step == Walk::Step::taken; ++i) {
    if (!own.contains(walk.code() - 1)) {
      if (depth == expected.size() || walk.code() != expected[depth]) return false;
      if (++depth == kOwnerFrames) walked.count_of_few = walked.count;
      if (depth == expected.size() && !ends) return true;
    }
    step = walk.step();
  }
  return depth == expected.size() && step == Walk::Step::end;
}

}  // namespace vramscope::recorded_walk
