// Streams of a context, how their work is ordered, and stream capture.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "test/simulator/device/engine.h"
#include "test/simulator/device/graph.h"
#include "test/simulator/device/handles.h"
#include "test/simulator/device/shared_moments.h"
#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

// The position of a stream in a capture: the nodes on which its next node depends.
struct CaptureFront {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> edges;  // one for each node, all plain; for queries
};

// One ongoing capture. Guarded by the capture lock in capture.cpp.
struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  CUstream origin = nullptr;
  bool invalidated = false;
  std::shared_ptr<CUgraph_st> graph;  // the graph into which it records
  bool into_given_graph = false;
  std::map<CUstream, CaptureFront> fronts;
  std::set<CUstream> members;   // streams that capture into it, the origin included
  std::set<CUstream> unjoined;  // members with work that the origin has not waited for
};

}  // namespace vramscope::simulator

struct CUstream_st {
  CUcontext context = nullptr;
  CUgreenCtx green = nullptr;  // whose stream it is, in the primary context
  unsigned flags = 0;          // CU_STREAM_NON_BLOCKING or 0
  std::atomic<int> priority = 0;
  std::uint64_t id = 0;
  bool is_legacy = false;
  std::shared_ptr<vramscope::simulator::Engine> engine;
  std::shared_ptr<vramscope::simulator::Capture> capture;  // guarded by the capture lock
  std::mutex mutex;                                        // guards what follows
  std::map<CUstreamAttrID, CUstreamAttrValue> attributes;  // those that were set, but for priority
};

struct CUevent_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  // For an event of several processes: its moments, used instead of `point`.
  std::shared_ptr<vramscope::simulator::SharedMoments> shared;
  std::mutex mutex;  // guards everything below
  bool recorded = false;
  vramscope::simulator::Point point;
  std::shared_ptr<std::atomic<std::int64_t>> done_ns;  // time at which the last record was reached
  std::shared_ptr<vramscope::simulator::Capture> capture;  // recorded inside this capture
  CUstream captured_from = nullptr;
  std::vector<CUgraphNode> captured_after;
};

namespace vramscope::simulator {

// The streams of one context.
// Threads: any.
class StreamSet {
 public:
  // Submits in the order of stream semantics: the legacy default stream waits for all blocking
  // streams, and they wait for it.
  Point submit(CUstream_st& stream, Engine::Work work, std::vector<Point> after = {});
  [[nodiscard]] std::shared_ptr<CUstream_st> legacy(CUcontext context);
  [[nodiscard]] std::shared_ptr<CUstream_st> of_this_thread(CUcontext context);
  std::shared_ptr<CUstream_st> create(CUcontext context, unsigned flags, int priority);
  void close(const std::shared_ptr<CUstream_st>& stream);
  void close_all();
  // Returns what must be reached for this stream to be idle; the legacy stream stands for all
  // blocking ones.
  [[nodiscard]] std::vector<Point> tails(CUstream_st& stream);
  [[nodiscard]] std::vector<Point> all_tails();

 private:
  std::shared_ptr<CUstream_st> make(CUcontext context, unsigned flags, int priority);
  std::vector<Point> blocking_tails();

  std::mutex mutex_;  // guards everything below, and with it the order of submissions
  std::shared_ptr<CUstream_st> legacy_;
  std::map<std::thread::id, std::shared_ptr<CUstream_st>> per_thread_;
  std::set<std::shared_ptr<CUstream_st>> streams_;  // all except the legacy one
  std::vector<Point> leftovers_;                    // work of destroyed streams
};

Handles<CUstream_st>& streams();
Handles<CUevent_st>& events();

// Returns the stream of a handle in the current context; null for a bad handle.
[[nodiscard]] std::shared_ptr<CUstream_st> resolve(CUstream handle);

// Submits to the stream, or records into its capture. `reached`, if given, receives the moment
// when the work is done; it is unchanged during a capture. `node` describes the work for a capture.
CUresult submit(CUstream_st& stream, Engine::Work work, Point* reached = nullptr,
                const CUgraphNodeParams* node = nullptr);
// Adds a node to the stream's capture, which must exist.
CUresult record_node(CUstream_st& stream, NodeContent content);
// Sets the event to the moment that a submission reaches, at the time `*done` once that is not 0.
void record_at(CUevent_st& event, Point point, std::shared_ptr<std::atomic<std::int64_t>> done);
[[nodiscard]] std::int64_t now_ns();

// Refuses a call that a capture forbids: returns error 900 and invalidates the captures that forbid
// it.
[[nodiscard]] CUresult refuse_in_capture();
// Refuses a wait for a whole context: returns 900 in every mode while one of its streams captures,
// and invalidates that capture, whichever thread began it. Otherwise works as refuse_in_capture().
[[nodiscard]] CUresult refuse_context_wait(CUcontext context);
// Does the same for a wait or a query on one stream.
[[nodiscard]] CUresult refuse_while_capturing(CUstream_st& stream);
// Refuses legacy-stream work while a blocking stream of the device captures: error 906.
[[nodiscard]] CUresult refuse_implicit(CUstream_st& stream);
[[nodiscard]] std::shared_ptr<Capture> capture_of(CUstream_st& stream);
[[nodiscard]] CUgraph graph_of_capture(CUstream_st& stream);  // null without one
// Sets the event to the stream's position in its capture, which must exist.
CUresult record_in_capture(CUstream_st& stream, CUevent_st& event);
// Invalidates the capture that recorded the event, since somebody queried the event or waits for
// it.
void invalidate_capture_of(CUevent event);
// Makes the stream wait for a captured event, whose mutex the caller holds: it joins the capture.
CUresult join_capture(CUstream_st& stream, const CUevent_st& event);
// Ends the captures of streams that end, except for members whose work is joined.
void leave_capture(CUstream_st& stream);
void forget_captures_of(CUcontext context);

}  // namespace vramscope::simulator
