// Golden lines, written by hand: one line each, nothing is parsed.
// SPDX-License-Identifier: Apache-2.0
#include "test/allocator/golden_lines.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "allocator/base/snapshot.h"

namespace vramscope::test {
namespace {

// Flattens every counter to "name.level.field".
struct Flatten {
  Values values;

  void pooled(const std::string& name, const PooledStat& stat) {
    PooledStat::visit(stat,
                      [&](const char* level, const Stat& s) { single(name + "." + level, s); });
  }
  void single(const std::string& name, const Stat& stat) {
    Stat::visit(stat,
                [&](const char* field, std::int64_t value) { values[name + "." + field] = value; });
  }
  void count(const std::string& name, std::int64_t value) { values[name] = value; }
  void setting(const std::string& name, std::int64_t value) { values[name] = value; }
};

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}

std::string field(const char* name, std::uint64_t value) {
  return "\"" + std::string(name) + "\": " + std::to_string(value);
}

std::string block_text(const BlockSnapshot& block) {
  return "{" + field("address", block.address) + ", " + field("size", block.size) + ", " +
         field("requested_size", block.requested_size) + ", \"state\": \"" +
         std::string(kBlockStateNames[static_cast<std::size_t>(block.state)]) + "\"}";
}

}  // namespace

Values values_of(const DeviceStatistics& statistics) {
  Flatten flat;
  DeviceStatistics::visit(statistics, flat);
  flat.values.erase("num_oom_rejections");
  return flat.values;
}

Values values_of(const HostStatistics& statistics) {
  Flatten flat;
  HostStatistics::visit(statistics, flat);
  return flat.values;
}

std::string values_line(const Values& values) {
  std::string line = "{";
  for (const auto& [name, value] : values) {
    line += (line.size() > 1 ? ", \"" : "\"") + name + "\": " + std::to_string(value);
  }
  return line + "}";
}

std::string digest(const Values& values) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = ~0u;
  for (const auto& [name, value] : values) {
    for (int shift = 0; shift < 64; shift += 8) {
      const auto byte = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> shift);
      crc = kTable[(crc ^ byte) & 255] ^ (crc >> 8);
    }
  }
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08x", ~crc);
  return text.data();
}

std::string snapshot_line(const Snapshot& snapshot) {
  std::string line = "{\"segments\": [";
  const char* separator = "";
  for (const SegmentSnapshot& segment : snapshot.segments) {
    line += separator;
    separator = ", ";
    line +=
        "{" + field("address", segment.address) + ", " + field("total_size", segment.total_size) +
        ", " + field("allocated_size", segment.allocated_size) + ", " +
        field("active_size", segment.active_size) + ", " +
        field("requested_size", segment.requested_size) + ", \"stream\": 0, " +
        "\"segment_type\": \"" + (segment.is_small ? "small" : "large") +
        "\", \"is_expandable\": " + (segment.is_expandable ? "true" : "false") + ", \"blocks\": [";
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      if (i > 0) line += ", ";
      line += block_text(snapshot.blocks[segment.first_block + i]);
    }
    line += "]}";
  }
  return line + "]}";
}

}  // namespace vramscope::test
