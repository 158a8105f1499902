// pprof's profile: for each stack what it allocated, holds and held at the peak, with kind of
// memory and device as labels. What is in use because a cache or a library keeps it is a sample of
// its own, with who does as the label held_by: without it, what is in use leaked.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "pprof.pb.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

class Profile {
 public:
  explicit Profile(const Exported& exported) : exported_(exported), stacks_(exported) {
    static_cast<void>(text_number(""));
    add_type("alloc_objects", "count");
    add_type("alloc_space", "bytes");
    add_type("inuse_objects", "count");
    add_type("inuse_space", "bytes");
    add_type("peak_objects", "count");
    add_type("peak_space", "bytes");
    profile_.set_default_sample_type(text_number("peak_space"));
    const Report& report = exported.report();
    profile_.set_time_nanos(static_cast<std::int64_t>(report.timeline.start_ns));
    profile_.set_duration_nanos(static_cast<std::int64_t>(report.timeline.duration_ns));
    profile_.add_comment(text_number(command_of(report)));
  }

  [[nodiscard]] std::string bytes() {
    add_mappings();
    for (const LeakUsage& usage : exported_.usage()) add(usage);
    return profile_.SerializeAsString();
  }

 private:
  std::int64_t text_number(const std::string& text) {
    const auto [known, is_new] = texts_.try_emplace(text, profile_.string_table_size());
    if (is_new) profile_.add_string_table(text);
    return known->second;
  }

  void add_type(const char* type, const char* unit) {
    pprof::ValueType& added = *profile_.add_sample_type();
    added.set_type(text_number(type));
    added.set_unit(text_number(unit));
  }

  // Modules are told apart by their name alone: addresses are those within one.
  void add_mappings() {
    const Report& report = exported_.report();
    const std::string& program = !is_merged(report) ? report.process.executable
                                                    : report.processes.front().process.executable;
    // Readers take the first for the program.
    std::vector<ModuleFact> modules = report.modules;
    std::stable_partition(modules.begin(), modules.end(),
                          [&](const ModuleFact& module) { return module.path == program; });
    for (const ModuleFact& module : modules) {
      const std::string path = harmless(module.path);
      const auto [known, is_new] = mappings_.try_emplace(path, mappings_.size() + 1);
      if (!is_new) continue;
      pprof::Mapping& mapping = *profile_.add_mapping();
      mapping.set_id(known->second);
      mapping.set_filename(text_number(path));
      mapping.set_build_id(text_number(harmless(module.build_id)));
      mapping.set_has_functions(true);
      mapping.set_has_filenames(true);
      mapping.set_has_line_numbers(true);
      mapping.set_has_inline_frames(true);
    }
  }

  std::uint64_t function_of(const NamedFrame& frame) {
    const auto [known, is_new] =
        functions_.try_emplace({frame.function, frame.file}, functions_.size() + 1);
    if (!is_new) return known->second;
    pprof::Function& function = *profile_.add_function();
    function.set_id(known->second);
    function.set_name(text_number(frame.function));
    function.set_system_name(text_number(frame.function));
    function.set_filename(text_number(frame.file));
    return known->second;
  }

  // Of frames of which each is inlined into the next.
  std::uint64_t location_of(const NamedStacks::Stack& frames) {
    const auto [known, is_new] = locations_.try_emplace(frames, locations_.size() + 1);
    if (!is_new) return known->second;
    pprof::Location& location = *profile_.add_location();
    location.set_id(known->second);
    const NamedFrame& called = stacks_.frame(frames.back());
    location.set_address(called.offset);
    const auto mapping = mappings_.find(called.module);
    if (mapping != mappings_.end()) location.set_mapping_id(mapping->second);
    for (const std::uint32_t index : frames) {
      pprof::Line& line = *location.add_line();
      line.set_function_id(function_of(stacks_.frame(index)));
      line.set_line(stacks_.frame(index).line);
    }
    return known->second;
  }

  void add(const LeakUsage& usage) {
    const SiteTotals& totals = usage.totals;
    add(usage,
        {totals.total_count, totals.total_bytes, usage.leaked_count, usage.leaked_bytes,
         totals.peak_count, totals.peak_bytes},
        "");
    for (const KeptUsage& kept : usage.kept)
      add(usage, {0, 0, kept.count, kept.bytes, 0, 0}, kept.holder);
  }

  void add(const SiteUsage& usage, const std::array<std::uint64_t, 6>& values,
           const std::string& holder) {
    pprof::Sample& sample = *profile_.add_sample();
    NamedStacks::Stack together;
    for (const std::uint32_t index : stacks_.stack(usage.site)) {
      together.push_back(index);
      if (stacks_.frame(index).is_inlined) continue;
      sample.add_location_id(location_of(together));
      together.clear();
    }
    if (!together.empty()) sample.add_location_id(location_of(together));
    for (const std::uint64_t value : values) sample.add_value(static_cast<std::int64_t>(value));
    add_label(sample, "kind", std::string(kKindNames[static_cast<std::size_t>(usage.kind)]));
    if (has_device(usage.kind)) add_label(sample, "device", std::to_string(usage.device));
    if (!holder.empty()) add_label(sample, "held_by", holder);
  }

  void add_label(pprof::Sample& sample, const char* key, const std::string& text) {
    pprof::Label& label = *sample.add_label();
    label.set_key(text_number(key));
    label.set_str(text_number(text));
  }

  const Exported& exported_;
  NamedStacks stacks_;
  pprof::Profile profile_;
  std::map<std::string, std::int64_t> texts_;
  std::map<std::string, std::uint64_t> mappings_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;
  std::map<NamedStacks::Stack, std::uint64_t> locations_;
};

}  // namespace

std::string pprof_profile(const Exported& exported) { return Profile(exported).bytes(); }

std::string write_pprof(const Exported& exported, Output& output) {
  output << pprof_profile(exported);
  return "";
}

}  // namespace vramscope
