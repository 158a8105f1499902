// Both runs, and the sum.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/room_judge.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

namespace vramscope::differential {
namespace {

constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
constexpr std::string_view kAmple = "capacity=16GiB";

// The number after "name=" in a result.
std::uint64_t value(const std::string& result, const std::string& name) {
  const std::size_t at = (" " + result).find(" " + name + "=");
  return at == std::string::npos ? 0 : std::stoull(result.substr(at + name.size() + 1));
}

bool is_refused(const std::string& result) { return result == "2" || result.starts_with("2 "); }
bool is_served(const std::string& result) { return result == "0" || result.starts_with("0 "); }

// What takes memory of the device, and the lines that take it back.
struct Taking {
  std::string_view verb;
  std::string_view back;  // empty: nothing does
};
constexpr Taking kTaking[] = {{"alloc", "free"},
                              {"pitch", "free"},
                              {"managed", "free"},
                              {"array", "array_end"},
                              {"alloc_async", "free_async"},
                              {"create", "release_handle"},
                              {"launch", ""},
                              {"module", "module_end"},
                              {"context", "context_end"}};

const Taking* taking(const Line& line) {
  const auto same = [&](const Taking& one) { return one.verb == line.verb; };
  const auto found = std::find_if(std::begin(kTaking), std::end(kTaking), same);
  return found == std::end(kTaking) ? nullptr : found;
}

Line line_of(std::string_view verb, std::vector<std::string> words) {
  Line line;
  line.verb = verb;
  line.words = std::move(words);
  return line;
}

// The sequence as it is played natively, and where each of its lines went. Ends before what cannot
// be taken back.
struct Native {
  Sequence sequence;
  std::vector<std::size_t> places;
};

void take_back(std::vector<Line>& lines, const Line& line, const Taking& refused) {
  lines.push_back(line_of("room", {}));
  const std::string& name = line.words.at(0);
  if (refused.back == "free_async") {
    lines.push_back(line_of("free_async", {name, "-"}));
    lines.push_back(line_of("sync_context", {}));  // what the pool took goes back
  } else {
    lines.push_back(line_of(refused.back, {name}));
  }
}

Native native_of(const Sequence& sequence, const Run& ours) {
  Native native;
  native.sequence.simulator = sequence.simulator;
  std::string& settings = native.sequence.simulator;
  const std::size_t at = settings.find("capacity=");
  settings.replace(at, settings.find(',', at) - at, kAmple);
  for (std::size_t i = 0; i < sequence.lines.size(); ++i) {
    const Line& line = sequence.lines[i];
    native.places.push_back(native.sequence.lines.size());
    native.sequence.lines.push_back(line);
    const Taking* const asks = taking(line);
    if (asks == nullptr || !is_refused(ours.results[i])) continue;
    if (asks->back.empty()) {
      native.sequence.lines.push_back(line_of("room", {}));
      break;
    }
    take_back(native.sequence.lines, line, *asks);
  }
  return native;
}

std::uint64_t capacity_of(const Sequence& sequence) {
  const std::string& settings = sequence.simulator;
  const std::size_t at = settings.find("capacity=") + std::string_view("capacity=").size();
  return std::stoull(settings.substr(at)) << 20;
}

bool is_small_block(const Line& line) {
  constexpr std::uint64_t kMostOfASmallBlock = std::uint64_t{1} << 20;
  return line.verb == "alloc" && std::stoull(line.words.at(1)) <= kMostOfASmallBlock;
}

class Room {
 public:
  Room(const Sequence& sequence, const Run& ours, const Native& played, const Run& native)
      : sequence_(sequence),
        ours_(ours),
        played_(played),
        native_(native),
        capacity_(capacity_of(sequence)) {}

  RoomVerdict verdict() {
    for (std::size_t i = 0; i < played_.places.size(); ++i) judge_line(i);
    if (native_.status != ours_.status && played_.places.size() == sequence_.lines.size()) {
      add("the exit status differs");
    }
    if (!ours_.errors.empty()) add("standard error became: " + ours_.errors);
    return std::move(verdict_);
  }

 private:
  void add(std::string text) { verdict_.differences.push_back(std::move(text)); }
  void add(std::size_t number, const std::string& what) {
    add("line " + std::to_string(number) + ": " + text_of(sequence_.lines[number]) + "\n    " +
        what + "\n    natively: " + native_.results[played_.places[number]] +
        "\n    with us:  " + ours_.results[number]);
  }

  // After a line, natively; nothing where nobody asked or could.
  [[nodiscard]] std::optional<std::uint64_t> used(std::size_t native_line) const {
    if (native_line >= native_.results.size()) return std::nullopt;
    const std::string& told = native_.results[native_line];
    if (!is_served(told)) return std::nullopt;
    return value(told, "total") - value(told, "free");
  }
  [[nodiscard]] std::uint64_t with_small_segments(std::uint64_t used, std::size_t number) const {
    return used + kPage * value(ours_.results[number], "small");
  }

  void judge_line(std::size_t number) {
    const Line& line = sequence_.lines[number];
    const std::string& native = native_.results[played_.places[number]];
    const std::string& ours = ours_.results[number];
    if (line.verb == "room") return judge_room(number, native, ours);
    const Taking* const asks = taking(line);
    if (asks == nullptr) return;
    if (is_served(ours)) ++verdict_.counts.served;
    if (is_refused(ours) && is_served(native)) return judge_refusal(number);
    const bool is_code = !native.empty() && native[0] >= '0' && native[0] <= '9';
    const bool same = native.substr(0, native.find(' ')) == ours.substr(0, ours.find(' '));
    if (is_code && !same) add(number, "is answered otherwise");
  }

  void judge_refusal(std::size_t number) {
    const auto after = used(played_.places[number] + 1);
    if (!after) return;
    // A small block that found no place would have had one more segment.
    const std::uint64_t wanted =
        with_small_segments(*after, number) + (is_small_block(sequence_.lines[number]) ? kPage : 0);
    if (wanted > capacity_) {
      ++verdict_.counts.refused;
      return;
    }
    const Excuse excuse = excuse_of(number);
    ++verdict_.counts.excused[static_cast<std::size_t>(excuse)];
    if (excuse != Excuse::none) return;
    add(number, "is refused with us; natively " + std::to_string(*after >> 20) +
                    " MiB would be used, with our small segments " + std::to_string(wanted >> 20) +
                    " of " + std::to_string(capacity_ >> 20));
  }

  [[nodiscard]] Excuse excuse_of(std::size_t number) const {
    const std::string& ours = ours_.results[number];
    if (value(ours, "captures") != 0) return Excuse::capture;
    return value(ours, "held") != 0 ? Excuse::pending_free : Excuse::none;
  }

  void judge_room(std::size_t number, const std::string& native, const std::string& ours) {
    const auto natively = used(played_.places[number]);
    if (!natively || !is_served(ours)) {
      if (is_served(native) != is_served(ours)) add(number, "is answered otherwise");
      return;
    }
    ++verdict_.counts.asked;
    const std::uint64_t wanted = with_small_segments(*natively, number);
    if (value(ours, "free") + wanted >= capacity_) return;
    if (value(ours, "captures") != 0 || value(ours, "held") != 0) {
      ++verdict_.counts.told_less;
      return;
    }
    add(number, "too little is told to be free of " + std::to_string(capacity_));
  }

  const Sequence& sequence_;
  const Run& ours_;
  const Native& played_;
  const Run& native_;
  const std::uint64_t capacity_;
  RoomVerdict verdict_;
};

Variables quick(const Variables& options) {
  Variables all = {{"VRAMSCOPE_REPORT_AT_EXIT", "off"},
                   {"VRAMSCOPE_STACKS", "none"},
                   {"VRAMSCOPE_ATTRIBUTION", "off"}};
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

std::string made(const std::string& folder) {
  std::filesystem::create_directory(folder);
  return folder;
}

}  // namespace

const char* name_of(Excuse excuse) {
  constexpr const char* kNames[] = {"none", "during a capture", "a graph keeps frees pending"};
  return kNames[static_cast<std::size_t>(excuse)];
}

void RoomCounts::add(const RoomCounts& other) {
  served += other.served;
  refused += other.refused;
  asked += other.asked;
  told_less += other.told_less;
  for (std::size_t i = 0; i < kExcuses; ++i) excused[i] += other.excused[i];
}

RoomJudge::RoomJudge(const Installation& installation, const std::string& folder,
                     const Variables& options)
    : native_(installation, {.name = "native", .mode = "", .options = {}}, made(folder + "/n")),
      ours_(installation, {.name = "cache", .mode = "cache", .options = quick(options)},
            made(folder + "/o")) {}

RoomVerdict RoomJudge::judge(const Sequence& sequence) {
  if (sequence.simulator.find("capacity=") == std::string::npos) return {};  // no end to its room
  const Run ours = ours_.run(sequence);
  const Native played = native_of(sequence, ours);
  const Run native = native_.run(played.sequence);
  return Room(sequence, ours, played, native).verdict();
}

}  // namespace vramscope::differential
