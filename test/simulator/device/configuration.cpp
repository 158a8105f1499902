// Reads the comma list of VRAMSCOPE_SIM.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/configuration.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

namespace vramscope::simulator {

namespace {

struct Unit {
  std::string_view suffix;
  unsigned shift;
};
constexpr Unit kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"B", 0}};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

std::optional<std::uint64_t> byte_count(std::string_view text) {
  unsigned shift = 0;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    text.remove_suffix(unit.suffix.size());
    shift = unit.shift;
    break;
  }
  const auto value = number(text);
  if (!value || *value > (std::numeric_limits<std::uint64_t>::max() >> shift)) return {};
  return *value << shift;
}

template <class Field>
bool set(Field& field, std::optional<std::uint64_t> value, std::uint64_t least,
         std::uint64_t most) {
  if (!value || *value < least || *value > most) return false;
  field = static_cast<Field>(*value);
  return true;
}

bool set_sticky(Configuration& configuration, std::string_view value) {
  const auto colon = value.find(':');
  if (colon == std::string_view::npos) return false;
  const auto after = number(value.substr(0, colon));
  const auto code = number(value.substr(colon + 1));
  if (!after || !code || *code == 0 || *code > 999) return false;
  configuration.sticky_after = *after;
  configuration.sticky_code = static_cast<std::int32_t>(*code);
  return true;
}

bool set_shared(Configuration& configuration, std::string_view value) {
  if (value.empty()) return false;
  configuration.shared = value;
  return true;
}

// A capacity behind it in the list counts.
bool set_model(Configuration& configuration, std::string_view key) {
  const Model* const model = find_model(key);
  if (model == nullptr) return false;
  configuration.model = *model;
  configuration.capacity = model->memory;
  configuration.footprint.placement = Placement::slabs;
  return true;
}

bool set_lacks(Configuration& configuration, std::string_view names) {
  std::vector<std::string> lacks;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find('+'));
    if (!name.starts_with("cu")) return false;
    lacks.emplace_back(name);
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  configuration.lacks = std::move(lacks);
  return !configuration.lacks.empty();
}

template <class Choice>
struct Name {
  std::string_view name;
  Choice choice;
};
constexpr Name<Fit> kFits[] = {{"first", Fit::first}, {"best", Fit::best}};
constexpr Name<EmptyChunks> kEmptyChunks[] = {{"given_back", EmptyChunks::given_back},
                                              {"one_kept", EmptyChunks::one_kept},
                                              {"kept", EmptyChunks::kept}};
constexpr Name<ChunksOf> kChunksOf[] = {{"device", ChunksOf::device},
                                        {"context", ChunksOf::context}};
constexpr Name<Placement> kPlacements[] = {{"first_fit", Placement::first_fit},
                                           {"slabs", Placement::slabs}};

template <class Choice, std::size_t count>
bool choose(Choice& chosen, std::string_view value, const Name<Choice> (&names)[count]) {
  const auto same = [value](const Name<Choice>& one) { return one.name == value; };
  const auto found = std::find_if(std::begin(names), std::end(names), same);
  if (found == std::end(names)) return false;
  chosen = found->choice;
  return true;
}

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMostCapacity = std::uint64_t{8} << 40;  // two of them fit into 47 bits
constexpr std::uint64_t kMostMicroseconds = 60'000'000;

bool apply(Configuration& c, std::string_view key, std::string_view value) {
  if (key == "capacity") return set(c.capacity, byte_count(value), 1 << 21, kMostCapacity);
  if (key == "context_bytes") return set(c.context_bytes, byte_count(value), 0, kMostCapacity);
  if (key == "module_bytes") return set(c.module_bytes, byte_count(value), 0, kMostCapacity);
  if (key == "device") return set_model(c, value);
  if (key == "devices") return set(c.devices, number(value), 1, 16);
  if (key == "fail_alloc") return set(c.fail_alloc, number(value), 0, kMost);
  if (key == "sticky") return set_sticky(c, value);
  if (key == "slow_free_us") return set(c.slow_free_us, number(value), 0, kMostMicroseconds);
  if (key == "delay_us") return set(c.delay_us, number(value), 0, kMostMicroseconds);
  if (key == "slow_capture_us") return set(c.slow_capture_us, number(value), 0, kMostMicroseconds);
  if (key == "busy_wait_ms") return set(c.busy_wait_ms, number(value), 0, kMostMicroseconds);
  if (key == "shared") return set_shared(c, value);
  if (key == "lacks") return set_lacks(c, value);
  if (key == "cancels_late") return set(c.cancels_late, number(value), 0, 1);
  if (key == "says_missing") return set(c.says_missing, number(value), 0, 1);
  if (key == "small_fit") return choose(c.footprint.small_fit, value, kFits);
  if (key == "empty_chunks") return choose(c.footprint.empty_chunks, value, kEmptyChunks);
  if (key == "chunks_of") return choose(c.footprint.chunks_of, value, kChunksOf);
  if (key == "placement") return choose(c.footprint.placement, value, kPlacements);
  if (key == "driver_version") return set(c.driver_version, number(value), 1000, 99999);
  return false;
}

}  // namespace

Parsed parse_configuration(std::string_view text) {
  Parsed parsed;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    if (entry.empty()) continue;
    const std::string_view key = entry.substr(0, entry.find('='));
    const std::string_view value = entry.substr(std::min(entry.size(), key.size() + 1));
    if (apply(parsed.configuration, key, value)) continue;
    parsed.complaints.push_back("VRAMSCOPE_SIM: cannot use '" + std::string(entry) +
                                "'; its default is kept");
  }
  return parsed;
}

}  // namespace vramscope::simulator
