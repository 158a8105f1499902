// FactWriter writes facts, and get_fact() reads them: they say what the numbers in a trace or a
// live file mean.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reporter/base/facts.h"
#include "reporter/record/trace/format.h"

namespace vramscope {

// The process to which the events belong.
struct TraceProcess {
  std::int64_t pid = 0;
  std::string executable;
  std::string mode;
  std::string tool_version;
  // One instant by both clocks. Events use the second one.
  std::uint64_t wall_ns = 0;
  std::uint64_t clock_ns = 0;
  // The settings that decide how memory is served, by the names of options.def; {}: an earlier
  // version wrote the trace.
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::uint64_t host_bytes = 0;  // of the host that the process may use; 0: not known
};

// What the numbers in events mean. Facts that a damaged trace lacks are empty.
struct TraceNames {
  TraceProcess process;
  std::vector<std::string> functions;
  RecorderFacts facts;  // modules, frames, sites, owners, tags, threads, streams, ranges
  ShownSources sources_shown = {};  // is not written
};

// Writes facts one after another. Threads: one.
class FactWriter {
 public:
  // No chunk is much larger than kChunkBytes. Each begins with a fact.
  using Chunks = std::vector<std::string>;
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 18;

  // Each function may throw bad_alloc.
  void begin(FactType type, std::uint64_t index);
  void number(std::uint64_t value);
  void text(const std::string& value);
  [[nodiscard]] Chunks take() { return std::move(chunks_); }

 private:
  Chunks chunks_;
};

// Writes a fact's description, after begin(). May throw bad_alloc.
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

// Writes a stream with its number, including begin(), with or without a name. May throw bad_alloc.
void put_stream(FactWriter& out, std::uint64_t number, const StreamFact& stream);

// Writes all of `facts`; the first one has the number `first`. May throw bad_alloc.
template <class Facts>
void put_all(FactWriter& out, FactType type, const Facts& facts, std::size_t first) {
  for (std::size_t i = 0; i < facts.size(); ++i) {
    out.begin(type, first + i);
    put(out, facts[i]);
  }
}

// Takes one fact, whose type was already read, off the front of `bytes`; otherwise like
// read_trace_facts().
[[nodiscard]] bool get_fact(FactType type, TraceBytes& bytes, std::size_t most_missing,
                            TraceNames& names);
// Takes a mark with its number off the front of `bytes`. Marks that were read before are left out,
// and marks that are lost to damage leave no gap.
void get_mark(TraceBytes& bytes, std::vector<MarkFact>& marks);
// Takes the marks of one name off the front of `bytes`. They replace those with the same number.
void get_repeated_mark(TraceBytes& bytes, std::vector<RepeatedMark>& marks);
// Adds the facts of a chunk. Facts of a type have ascending numbers, and numbers may be repeated.
// Between two facts at most `most_missing` may be missing, as after damage. Returns false if the
// chunk is damaged.
[[nodiscard]] bool read_trace_facts(std::span<const std::byte> bytes, std::size_t most_missing,
                                    TraceNames& names);
// Ends the reading of facts: references to facts that are missing become empty.
void close_trace_names(TraceNames& names);

}  // namespace vramscope
