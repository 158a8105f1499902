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

// Where a stream of a capture has got to: what its next node depends on.
struct CaptureFront {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> edges;  // as many, all plain; for those who ask
};

// One ongoing capture. Guarded by the capture lock in capture.cpp.
struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  CUstream origin = nullptr;
  bool invalidated = false;
  std::shared_ptr<CUgraph_st> graph;  // what it records into
  bool into_given_graph = false;
  std::map<CUstream, CaptureFront> fronts;
  std::set<CUstream> members;   // streams that capture into it, the origin included
  std::set<CUstream> unjoined;  // members with work that the origin has not waited for
};

}  // namespace vramscope::simulator

struct CUstream_st {
  CUcontext context = nullptr;
  unsigned flags = 0;  // CU_STREAM_NON_BLOCKING or 0
  int priority = 0;
  std::uint64_t id = 0;
  bool is_legacy = false;
  std::shared_ptr<vramscope::simulator::Engine> engine;
  std::shared_ptr<vramscope::simulator::Capture> capture;  // guarded by the capture lock
};

struct CUevent_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  // Of an event for several processes: what it stands for, in place of `point`.
  std::shared_ptr<vramscope::simulator::SharedMoments> shared;
  std::mutex mutex;  // guards everything below
  bool recorded = false;
  vramscope::simulator::Point point;
  std::shared_ptr<std::atomic<std::int64_t>> done_ns;      // when the last record was reached
  std::shared_ptr<vramscope::simulator::Capture> capture;  // recorded inside this capture
  CUstream captured_from = nullptr;
  std::vector<CUgraphNode> captured_after;
};

namespace vramscope::simulator {

// The streams of one context.
// Threads: any.
class StreamSet {
 public:
  // Submits in the order that stream semantics ask for: the legacy default stream waits for all
  // blocking streams and they for it.
  Point submit(CUstream_st& stream, Engine::Work work, std::vector<Point> after = {});
  [[nodiscard]] std::shared_ptr<CUstream_st> legacy(CUcontext context);
  [[nodiscard]] std::shared_ptr<CUstream_st> of_this_thread(CUcontext context);
  std::shared_ptr<CUstream_st> create(CUcontext context, unsigned flags, int priority);
  void close(const std::shared_ptr<CUstream_st>& stream);
  void close_all();
  // What must be reached for this stream to be idle; the legacy one stands for all blocking ones.
  [[nodiscard]] std::vector<Point> tails(CUstream_st& stream);
  [[nodiscard]] std::vector<Point> all_tails();

 private:
  std::shared_ptr<CUstream_st> make(CUcontext context, unsigned flags, int priority);
  std::vector<Point> blocking_tails();

  std::mutex mutex_;  // guards everything below, and with it the order of submissions
  std::shared_ptr<CUstream_st> legacy_;
  std::map<std::thread::id, std::shared_ptr<CUstream_st>> per_thread_;
  std::set<std::shared_ptr<CUstream_st>> streams_;  // all, the legacy one excepted
  std::vector<Point> leftovers_;                    // work of destroyed streams
};

Handles<CUstream_st>& streams();
Handles<CUevent_st>& events();

// The stream that a handle means in the current context; null for a bad handle.
[[nodiscard]] std::shared_ptr<CUstream_st> resolve(CUstream handle);

// Submits to the stream, or records into its capture. `reached`, if given, receives the moment
// when the work is done; unchanged while capturing. `node` says what a capture shall call it.
CUresult submit(CUstream_st& stream, Engine::Work work, Point* reached = nullptr,
                const CUgraphNodeParams* node = nullptr);
// Adds a node to the stream's capture, which must be there.
CUresult record_node(CUstream_st& stream, NodeContent content);
// The event becomes the moment that a submission reached, at `*done` on the clock once it is not 0.
void record_at(CUevent_st& event, Point point, std::shared_ptr<std::atomic<std::int64_t>> done);
[[nodiscard]] std::int64_t now_ns();

// A call that a capture forbids: error 900, and the captures that forbid it are invalidated.
[[nodiscard]] CUresult refuse_in_capture();
// A wait for a whole context: 900 in every mode while one of its streams captures, and that capture
// is invalidated, whichever thread began it; besides, as above.
[[nodiscard]] CUresult refuse_context_wait(CUcontext context);
// The same for a wait or a query on one stream.
[[nodiscard]] CUresult refuse_while_capturing(CUstream_st& stream);
// Legacy-stream work while a blocking stream of the device captures: error 906.
[[nodiscard]] CUresult refuse_implicit(CUstream_st& stream);
[[nodiscard]] std::shared_ptr<Capture> capture_of(CUstream_st& stream);
[[nodiscard]] CUgraph graph_of_capture(CUstream_st& stream);  // null without one
// The event becomes the stream's place in its capture, which must be there.
CUresult record_in_capture(CUstream_st& stream, CUevent_st& event);
// Somebody asked about, or waits for, an event that it recorded.
void invalidate_capture_of(CUevent event);
// The stream waits for a captured event, whose mutex the caller holds: it joins the capture.
CUresult join_capture(CUstream_st& stream, const CUevent_st& event);
// Streams that end take their captures with them, other than members whose work is all joined.
void leave_capture(CUstream_st& stream);
void forget_captures_of(CUcontext context);

}  // namespace vramscope::simulator
