// Modes and options.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/configurations.h"

#include <string_view>

namespace vramscope::differential {
namespace {

// Of a quarter of the device, as without a fraction nothing is collected
// (allocator/base/limits.h).
constexpr const char* kCollectsGarbage =
    "per_process_memory_fraction:0.25,garbage_collection_threshold:0.001";

const std::pair<std::string, std::string> kAtReuse = {"VRAMSCOPE_REUSE", "at-reuse"};
const std::pair<std::string, std::string> kPyTorch = {"VRAMSCOPE_POLICY", "pytorch"};

Configuration with_setting(const std::string& setting) {
  return {
      .name = "cache " + setting, .mode = "cache", .options = {{"VRAMSCOPE_ALLOC_CONF", setting}}};
}

// PyTorch's policy, which knows more settings.
Configuration of_pytorch(Configuration one) {
  one.name += ", pytorch";
  one.options.push_back(kPyTorch);
  return one;
}

Configuration with_option(const std::string& name, const std::string& value) {
  return {.name = "cache " + name + "=" + value,
          .mode = "cache",
          .options = {{"VRAMSCOPE_" + name, value}}};
}

}  // namespace

std::vector<Configuration> modes() {
  return {{.name = "native", .mode = "", .options = {}},
          {.name = "cache", .mode = "cache", .options = {}},
          {.name = "cache at-reuse", .mode = "cache", .options = {kAtReuse}},
          {.name = "dedicated", .mode = "dedicated", .options = {}},
          {.name = "observe", .mode = "observe", .options = {}}};
}

Configuration at_reuse(Configuration one) {
  one.name += ", at-reuse";
  one.options.push_back(kAtReuse);
  return one;
}

std::vector<Configuration> rotated_for(const Sequence& sequence) {
  std::vector<Configuration> all;
  const bool has_several_devices = sequence.simulator.find("devices=") != std::string::npos;
  for (const char* setting :
       {"max_split_size_mb:24", "max_split_size_mb:24,max_non_split_rounding_mb:32",
        "large_segment_size_mb:32", "roundup_power2_divisions:4",
        "roundup_power2_divisions:[1:2,4:1,>:8]", kCollectsGarbage, "exact_fallback:False",
        "expandable_segments:True", "growing_segments:True"}) {
    const bool is_in_pages = std::string_view(setting).ends_with("_segments:True");
    if (has_several_devices && is_in_pages) continue;
    all.push_back(of_pytorch(with_setting(setting)));
  }
  for (const char* setting :
       {kCollectsGarbage, "per_process_memory_fraction:0.25", "throw_on_cudamalloc_oom:True",
        "pinned_max_round_threshold_mb:1", "pinned_max_cached_size_mb:1"}) {
    all.push_back(with_setting(setting));
  }
  all.push_back(of_pytorch(with_option("EXACT_FALLBACK", "off")));
  all.push_back(of_pytorch({.name = "cache", .mode = "cache", .options = {}}));
  all.push_back(with_option("STACKS", "frame-pointers"));
  all.push_back(with_option("STACKS", "none"));
  all.push_back(with_option("STACK_DEPTH", "1"));
  all.push_back(with_option("SAMPLE_BYTES", "64KiB"));
  all.push_back(with_option("ATTRIBUTION", "off"));
  all.push_back(with_option("DEVICE_MEMORY_LIMIT", "64GiB"));
  all.push_back({.name = "dedicated at-reuse", .mode = "dedicated", .options = {kAtReuse}});
  all.push_back({.name = "dedicated, garbage collected",
                 .mode = "dedicated",
                 .options = {{"VRAMSCOPE_ALLOC_CONF", kCollectsGarbage}}});
  return all;
}

}  // namespace vramscope::differential
