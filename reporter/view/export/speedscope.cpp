// speedscope's own JSON: a sampled profile for each cost, frames shared by all.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/json_writer.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"

namespace vramscope {
namespace {

struct Profile {
  std::string samples;
  std::string weights;
  std::uint64_t total = 0;
};

// The kinds of memory, and who holds what was kept, are frames too, behind all others.
class Roots {
 public:
  explicit Roots(std::size_t first) : first_(first) {}
  std::size_t number_of(const std::string& name) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return first_ + i;
    }
    names_.push_back(name);
    return first_ + names_.size() - 1;
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::size_t first_;
  std::vector<std::string> names_;
};

Profile profile_of(const Report& report, const std::vector<LeakUsage>& all, Cost cost,
                   NamedStacks& stacks, Roots& roots) {
  Profile profile;
  for (const LeakUsage& usage : all) {
    for (const CostPart& part : parts_of(usage, cost)) {
      const char* comma = profile.total == 0 ? "" : ",";
      profile.samples +=
          std::string(comma) + "[" +
          std::to_string(roots.number_of(memory_name(report, usage.kind, usage.device)));
      if (!part.holder.empty())
        profile.samples += "," + std::to_string(roots.number_of(part.holder));
      const NamedStacks::Stack& stack = stacks.stack(usage.site);
      for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
        profile.samples += "," + std::to_string(*frame);
      }
      profile.samples += "]";
      profile.weights += comma + std::to_string(part.value);
      profile.total += part.value;
    }
  }
  return profile;
}

void write_profile(const Profile& profile, Cost cost, Output& output) {
  const std::string name = cost == Cost::count ? "allocations" : std::string(name_of(cost));
  output << "{\"type\":\"sampled\",\"name\":\"" << name << "\",\"unit\":\""
         << (cost == Cost::count ? "none" : "bytes")
         << "\",\"startValue\":0,\"endValue\":" << std::to_string(profile.total)
         << ",\n\"samples\":[" << profile.samples << "],\n\"weights\":[" << profile.weights << "]}";
}

void write_frames(const NamedStacks& stacks, const Roots& roots, Output& output) {
  for (std::uint32_t i = 0; i < stacks.frames(); ++i) {
    const NamedFrame& frame = stacks.frame(i);
    output << (i == 0 ? "\n" : ",\n") << "{\"name\":" << json_string(frame.function);
    const std::string& file = frame.file.empty() ? frame.module : frame.file;
    if (!file.empty()) output << ",\"file\":" << json_string(file);
    if (frame.line > 0) output << ",\"line\":" << std::to_string(frame.line);
    output << "}";
  }
  for (const std::string& name : roots.names())
    output << ",\n{\"name\":" << json_string(name) << "}";
}

}  // namespace

std::string write_speedscope(const Exported& exported, Output& output) {
  NamedStacks stacks(exported);
  const std::vector<LeakUsage>& all = exported.usage();
  for (const LeakUsage& usage : all) static_cast<void>(stacks.stack(usage.site));
  Roots roots(stacks.frames());
  output << "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":"
         << json_string(process_name(exported.report())) << ",\"exporter\":\"vramscope@"
         << VRAMSCOPE_VERSION
         << "\",\"activeProfileIndex\":" << std::to_string(static_cast<int>(exported.cost()))
         << ",\n\"profiles\":[";
  for (const Cost cost : {Cost::peak, Cost::leaked, Cost::kept, Cost::total, Cost::count}) {
    if (cost != Cost::peak) output << ",\n";
    write_profile(profile_of(exported.report(), all, cost, stacks, roots), cost, output);
  }
  output << "],\n\"shared\":{\"frames\":[";
  write_frames(stacks, roots, output);
  output << "]}}\n";
  return "";
}

}  // namespace vramscope
