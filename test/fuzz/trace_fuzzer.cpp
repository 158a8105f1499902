// Traces that a fuzzer makes, as they are and with right checksums, read and added up.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "reporter/record/trace/format.h"
#include "reporter/report/report.h"
#include "reporter/report/traces/trace_input.h"
#include "reporter/view/text/trace_text.h"
#include "test/fuzz/fuzzed_file.h"
#include "test/reporter/told_totals.h"

namespace vramscope {
namespace {

void add_up(TraceReader& reader) {
  TraceTotals totals;
  ToldTotals told(totals);
  std::string lines;
  const bool read = reader.read(TraceReader::Order::by_change, [&](const TraceEvent& event) {
    told.add(event);
  }) && reader.read(TraceReader::Order::by_end, [&](const TraceEvent& event) {
    CsvText csv(lines);
    add_trace_csv(csv, event, reader.names());
  });
  demand_harmless(lines);
  if (read) totals.finish();
}

void read(std::span<const std::byte> bytes) {
  for (const auto damage : {TraceReader::Damage::refused, TraceReader::Damage::left_out}) {
    TraceReader reader(bytes, damage);
    if (reader.problem().empty()) {
      add_up(reader);
    } else {
      demand_one_line(reader.problem());
    }
  }
}

// A fuzzer finds no checksums: those of the file and of the chunks that follow each other.
void repair(std::span<std::byte> bytes) {
  if (bytes.size() < kTraceHeadBytes) return;
  std::ranges::copy(trace_head(), bytes.begin());
  for (bytes = bytes.subspan(kTraceHeadBytes); bytes.size() >= sizeof(ChunkHead);) {
    ChunkHead head;
    std::memcpy(&head, bytes.data(), sizeof head);
    const std::size_t room = bytes.size() - sizeof head;
    head.magic = ChunkHead::kMagic;
    if (head.bytes > room) head.bytes = static_cast<std::uint32_t>(room);
    seal(head, bytes.subspan(sizeof head, head.bytes));
    std::memcpy(bytes.data(), &head, sizeof head);
    bytes = bytes.subspan(sizeof head + head.bytes);
  }
}

}  // namespace
}  // namespace vramscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace vramscope;
  const FuzzedFile file({bytes, size});
  const TraceInput input(file.path());
  if (!input.bytes().empty()) read(input.bytes());
  std::vector<std::byte> repaired(input.bytes().begin(), input.bytes().end());
  repair(repaired);
  read(repaired);
  return 0;
}
