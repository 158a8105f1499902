// What a recorder's facts are, as text.
// SPDX-License-Identifier: Apache-2.0
#include "test/reporter/recovery_case.h"

#include <sstream>

namespace vramscope {
namespace {

void describe(std::ostream& out, const Duration& time) {
  out << time.count << ' ' << time.total_ns << ' ' << time.min_ns << ' ' << time.max_ns << " [";
  for (const std::uint64_t count : time.histogram) out << count << ' ';
  out << "]\n";
}
void describe(std::ostream& out, const Timing& timing) {
  Timing::visit(timing, [&](const char* name, const Duration& time) {
    out << "  " << name << ' ';
    describe(out, time);
  });
}

}  // namespace

std::string describe(const RecorderFacts& facts) {
  std::ostringstream out;
  for (const FunctionTotals& function : facts.functions) {
    out << "function " << function.calls << ' ' << function.failures << ' ';
    describe(out, function.time);
  }
  for (const auto& [device, timing] : facts.devices) {
    out << "device " << device << '\n';
    describe(out, timing);
  }
  out << "host\n";
  describe(out, facts.host);
  for (const auto& row : facts.modules) {
    out << "module " << row.path << ' ' << row.build_id << ' ' << row.base << '\n';
  }
  for (const auto& row : facts.sources) {
    out << "source " << row.path << ' ' << row.bytes << ' ' << row.modified_ns << '\n';
  }
  for (const auto& row : facts.codes) {
    out << "code " << row.name << ' ' << row.source << ' ' << row.first_line << '\n';
  }
  for (const auto& row : facts.frames) {
    out << "frame " << row.module << ' ' << row.offset << ' ' << row.code << ' ' << row.line
        << '\n';
  }
  for (const auto& row : facts.sites) {
    out << "site";
    for (const std::uint32_t frame : row.frames) out << ' ' << frame;
    out << '\n';
  }
  for (const auto& row : facts.tags) {
    out << "tag " << row.site << ' ' << static_cast<int>(row.place.kind) << ' ' << row.place.device
        << " values";
    for (const std::uint32_t value : row.values) out << ' ' << value;
    out << " groups";
    for (const Group group : row.groups) out << ' ' << group;
    out << ' ' << row.total_ns << ' ' << row.temporary << ' ' << static_cast<int>(row.sampling)
        << ' ' << row.refused_count << ' ' << row.refused_bytes << '\n';
  }
  for (const auto& row : facts.owners) out << "owner " << row << '\n';
  for (const auto& row : facts.threads) out << "thread " << row.id << ' ' << row.name << '\n';
  for (const auto& row : facts.streams) out << "stream " << row.handle << '\n';
  for (const auto& row : facts.ranges) {
    out << "range " << row.parent << ' ' << row.domain << ' ' << row.name << ' ' << row.entered
        << '\n';
  }
  out << "marks " << facts.range_marks << " unrecorded " << facts.unrecorded_calls << " dropped "
      << facts.dropped_stacks << '\n';
  for (const auto& row : facts.marks) out << "mark " << row.clock_ns << ' ' << row.name << '\n';
  for (const auto& row : facts.repeated_marks) {
    out << "repeated " << row.name << ' ' << row.marks;
    for (const std::uint64_t clock_ns : row.clocks_ns) out << ' ' << clock_ns;
    out << '\n';
  }
  for (const auto& row : facts.warnings) out << "warning " << row << '\n';
  return out.str();
}

}  // namespace vramscope
