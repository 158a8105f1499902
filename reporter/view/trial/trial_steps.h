// TrialSteps are what a program did with memory, as short records that an allocator can be asked
// for again, quickly and often.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/report/traces/trace_reader.h"

namespace vramscope {

struct TrialPhase;

// One step. Memory is known by the number of its slot while it lives.
struct TrialStep {
  enum class What : std::uint8_t {
    allocated,          // by a call that our allocator may serve
    freed,              // the end of such memory
    freed_in_order,     // the same by a call that does not wait for the device
    came,               // by a call that only the driver serves
    went,               // the end of such memory
    refused,            // by a call that our allocator may serve: there was no memory
    refused_by_driver,  // by another call
    place_ended,        // with all memory in it
    capture_began,
    capture_ended,
    use_changed,  // what is used and not recorded: slot is an index into TrialSteps::uses
    nothing,
  };
  std::uint64_t bytes = 0;  // requested; of an end, those of the memory
  std::uint64_t at_ns = 0;  // after time 0
  std::uint32_t slot = 0;
  std::uint16_t place = 0;  // index into TrialSteps::places
  What what = What::allocated;
  bool is_dedicated = false;  // its segment held no other block in the recording
};

// How the recording program served memory, as far as its trace says.
struct RecordedSettings {
  bool are_known = false;  // the trace names all of them; else only mode and policy are known
  std::string mode = "cache";
  std::string policy = "native-safe";
  std::string alloc_conf = {};
  std::string reuse = "at-free";
  std::string exact_fallback = "on";
  std::string device_memory_limit = {};
  std::uint64_t host_bytes = 0;  // of the host; 0: not known
};

// What a replay of the recording's own settings may do otherwise than the program did.
struct TrialGaps {
  std::uint64_t lost_events = 0;
  std::uint64_t damaged_chunks = 0;  // that were left out
  std::uint64_t earlier_allocations =
      0;                      // that another tool's file has no record of, but its frees
  bool is_cut_off = false;    // the file ends before the run does
  bool begins_late = false;   // memory was freed whose allocation it does not have
  bool has_captures = false;  // frees wait for the ends of captures and graphs
  bool has_exports = false;   // exported memory goes back when it is freed
  bool has_pools = false;     // pools of the driver keep what was freed, unrecorded
  bool has_several_threads = false;
};

// What the trace's own calls took that gave device memory, and took it back.
struct MeasuredCalls {
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t in_allocations_ns = 0, in_frees_ns = 0;

  [[nodiscard]] std::uint64_t allocate_ns() const {
    return allocations == 0 ? 0 : in_allocations_ns / allocations;
  }
  [[nodiscard]] std::uint64_t free_ns() const { return frees == 0 ? 0 : in_frees_ns / frees; }
};

struct TrialSteps {
  std::vector<TrialStep> steps;
  std::vector<Place> places;
  std::uint32_t slots = 0;             // each slot is below
  std::vector<UnrecordedChange> uses;  // in order
  // For each of these, what others and the driver used: less than was unrecorded where small
  // allocations left parts of their pages unused. {}: nobody called learn().
  std::vector<std::uint64_t> others;
  std::vector<SegmentChange> segments;                   // those of the recording, in order
  std::vector<std::uint16_t> devices;                    // with memory, in order
  std::array<std::uint64_t, kMaxDevices> total_bytes{};  // of each device; 0: not known
  std::uint64_t requests = 0;                            // allocations
  bool has_torch_segments = false;  // PyTorch's cache asked for its segments, not for tensors
  RecordedSettings recorded;
  MeasuredCalls measured;
  TrialGaps gaps;
};

// Whose allocations a trace has: those of our library, or of another tool's file, which it was made
// of. PyTorch's allocator exchanges blocks only within a stream.
enum class TraceOf : std::uint8_t { vramscope, pytorch, other };

// Reads everything that a trace did with memory. Returns "", or the trace's problem. phase: null,
// or what is to be found of the phase with its name. May throw bad_alloc.
[[nodiscard]] std::string read_trial_steps(TraceReader& reader, TraceOf whose, TrialSteps& steps,
                                           TrialPhase* phase = nullptr);

}  // namespace vramscope
