// FactWriter and what reads its bytes: facts, which say what numbers in a trace mean, or in a live
// file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reporter/ground/facts.h"
#include "reporter/record/trace/format.h"

namespace vramscope {

// Whose events they are.
struct TraceProcess {
  std::int64_t pid = 0;
  std::string executable;
  std::string mode;
  std::string tool_version;
  // One instant by both clocks: events carry the second one.
  std::uint64_t wall_ns = 0;
  std::uint64_t clock_ns = 0;
};

// What the numbers in events mean. Facts that a damaged trace lacks are empty.
struct TraceNames {
  TraceProcess process;
  std::vector<std::string> functions;
  RecorderFacts facts;  // modules, frames, sites, owners, tags, threads, streams, ranges
  ShownSources sources_shown = {};  // not written
};

// Facts one after the other. Threads: one.
class FactWriter {
 public:
  // None much larger than kChunkBytes; each begins with a fact.
  using Chunks = std::vector<std::string>;
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 18;

  // Each may throw bad_alloc.
  void begin(FactType type, std::uint64_t index);
  void number(std::uint64_t value);
  void text(const std::string& value);
  [[nodiscard]] Chunks take() { return std::move(chunks_); }

 private:
  Chunks chunks_;
};

// What follows begin(). May throw bad_alloc.
void put(FactWriter& out, const FrameFact& frame);
void put(FactWriter& out, const SourceFact& source);
void put(FactWriter& out, const CodeFact& code);
void put(FactWriter& out, const SiteFact& site);
void put(FactWriter& out, const TagFact& tag);  // without its groups and sampling
void put(FactWriter& out, const std::string& text);
void put(FactWriter& out, const ModuleFact& module);
void put(FactWriter& out, const ThreadFact& thread);
void put(FactWriter& out, const RangeFact& range);
void put_passes(FactWriter& out, std::uint64_t number, const RangeFact& range);
void put(FactWriter& out, const MarkFact& mark);
void put(FactWriter& out, const RepeatedMark& mark);

// A stream with that number, begun as what it is: with a name or without. May throw bad_alloc.
void put_stream(FactWriter& out, std::uint64_t number, const StreamFact& stream);

// All of `facts`, of which the first has the number `first`. May throw bad_alloc.
template <class Facts>
void put_all(FactWriter& out, FactType type, const Facts& facts, std::size_t first) {
  for (std::size_t i = 0; i < facts.size(); ++i) {
    out.begin(type, first + i);
    put(out, facts[i]);
  }
}

// Takes one fact, whose type was read, off the front of `bytes`; as read_trace_facts().
[[nodiscard]] bool get_fact(FactType type, TraceBytes& bytes, std::size_t most_missing,
                            TraceNames& names);
// Takes a mark with its number off the front of `bytes`. Those that were told before are left out,
// and those that damage took away leave no gap.
void get_mark(TraceBytes& bytes, std::vector<MarkFact>& marks);
// Takes marks of one name off the front of `bytes`; they replace those with that number.
void get_repeated_mark(TraceBytes& bytes, std::vector<RepeatedMark>& marks);
// Adds what a chunk of facts says. Facts of a type come in the order of their numbers, and numbers
// may be repeated; `most_missing` of them may be left out between two, as damage does. False: it is
// damaged.
[[nodiscard]] bool read_trace_facts(std::span<const std::byte> bytes, std::size_t most_missing,
                                    TraceNames& names);
// After the last one: what names something that is not there names nothing.
void close_trace_names(TraceNames& names);

}  // namespace vramscope
