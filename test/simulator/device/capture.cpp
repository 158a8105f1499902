// Stream capture: what is recorded, what it forbids, and who is in it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "test/simulator/device/streams.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

std::mutex capture_mutex;  // guards every Capture, CUstream_st::capture and the list
std::vector<std::shared_ptr<Capture>> ongoing;

CUstreamCaptureMode& mode_of_this_thread() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

// cuda.h, cuThreadExchangeStreamCaptureMode: which captures stop this thread's unsafe calls.
bool forbids(const Capture& capture, CUstreamCaptureMode thread_mode) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) {
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

// The captures that work on this stream would have to be ordered with, if it is the legacy one:
// `is_near` says of a member's context whether it counts.
template <class IsNear>
std::vector<std::shared_ptr<Capture>> implied_by(const CUstream_st& stream, IsNear is_near) {
  std::vector<std::shared_ptr<Capture>> implied;
  if (!stream.is_legacy) return implied;
  for (const auto& capture : ongoing) {
    const bool blocking = std::ranges::any_of(capture->members, [&](CUstream member) {
      return is_near(member->context) && member->flags != CU_STREAM_NON_BLOCKING;
    });
    if (blocking) implied.push_back(capture);
  }
  return implied;
}

void end(const std::shared_ptr<Capture>& capture) {
  for (CUstream member : capture->members) member->capture.reset();
  capture->graph->capturing = false;
  std::erase(ongoing, capture);
}

// Ends without a graph for the program.
void abandon(const std::shared_ptr<Capture>& capture) {
  end(capture);
  if (!capture->into_given_graph) graphs().remove(capture->graph.get());
}

// Without a graph: a new one.
CUresult begin(CUstream handle, CUstreamCaptureMode mode, std::shared_ptr<CUgraph_st> graph = {},
               std::vector<CUgraphNode> after = {}) {
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const std::lock_guard lock(capture_mutex);
  if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = driver().next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->members.insert(stream.get());
  capture->into_given_graph = graph != nullptr;
  capture->graph = graph ? std::move(graph) : std::make_shared<CUgraph_st>();
  capture->graph->capturing = true;
  graphs().add(capture->graph);
  capture->fronts[stream.get()].nodes = std::move(after);
  stream->capture = capture;
  ongoing.push_back(std::move(capture));
  return CUDA_SUCCESS;
}

CUresult begin_slowly(CUstream handle, CUstreamCaptureMode mode,
                      std::shared_ptr<CUgraph_st> graph = {}, std::vector<CUgraphNode> after = {}) {
  const CUresult code = begin(handle, mode, std::move(graph), std::move(after));
  if (const std::uint64_t us = driver().configuration.slow_capture_us; us != 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(us));
  }
  return code;
}

CUresult record_locked(CUstream_st& stream, NodeContent content) {
  Capture& capture = *stream.capture;
  if (capture.invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<CUgraphNode>& front = capture.fronts[&stream].nodes;
  front = {add_node(*capture.graph, std::move(content), front)};
  if (capture.origin != &stream) capture.unjoined.insert(&stream);
  return CUDA_SUCCESS;
}

CUstreamCaptureStatus status_of(const std::shared_ptr<Capture>& capture) {
  if (!capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                              : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

// What cuStreamGetCaptureInfo gives; null where the caller does not want it.
struct CaptureFacts {
  CUstreamCaptureStatus* status;
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** nodes = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  std::size_t* count = nullptr;
};

template <class Value>
void give(Value* to, Value value) {
  if (to != nullptr) *to = value;
}

CUresult describe(CUstream handle, const CaptureFacts& facts) {
  if (facts.status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(capture_mutex);
  // Asking does not invalidate (cuda.h, cuStreamIsCapturing).
  const auto is_same = [&](CUcontext context) { return context == stream->context; };
  if (!implied_by(*stream, is_same).empty()) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *facts.status = status_of(stream->capture);
  if (*facts.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  CaptureFront& front = stream->capture->fronts[stream.get()];
  front.edges.assign(front.nodes.size(), CUgraphEdgeData{});
  give<cuuint64_t>(facts.id, stream->capture->id);
  give(facts.graph, CUgraph{stream->capture->graph.get()});
  give<const CUgraphNode*>(facts.nodes, front.nodes.data());
  give<const CUgraphEdgeData*>(facts.edges, front.edges.data());
  give(facts.count, front.nodes.size());
  return CUDA_SUCCESS;
}

}  // namespace

CUresult submit(CUstream_st& stream, Engine::Work work, Point* reached,
                const CUgraphNodeParams* node) {
  if (const CUresult refusal = refuse_implicit(stream); refusal != CUDA_SUCCESS) return refusal;
  {
    const std::lock_guard lock(capture_mutex);
    if (stream.capture) {
      NodeContent content;
      if (node != nullptr) content.parameters = *node;
      content.work = std::move(work);
      return record_locked(stream, std::move(content));
    }
  }
  const Point point = stream.context->streams.submit(stream, std::move(work));
  if (reached != nullptr) *reached = point;
  return CUDA_SUCCESS;
}

CUresult record_node(CUstream_st& stream, NodeContent content) {
  const std::lock_guard lock(capture_mutex);
  return stream.capture ? record_locked(stream, std::move(content)) : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult refuse_in_capture() {
  const CUstreamCaptureMode mode = mode_of_this_thread();
  const std::lock_guard lock(capture_mutex);
  bool refused = false;
  for (const auto& capture : ongoing) {
    if (!forbids(*capture, mode)) continue;
    capture->invalidated = true;
    refused = true;
  }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult refuse_context_wait(CUcontext context) {
  const CUresult refusal = refuse_in_capture();
  const std::lock_guard lock(capture_mutex);
  bool refused = refusal != CUDA_SUCCESS;
  for (const auto& capture : ongoing) {
    const bool is_of_it = std::ranges::any_of(
        capture->members, [&](CUstream member) { return member->context == context; });
    if (!is_of_it) continue;
    capture->invalidated = true;
    refused = true;
  }
  return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult refuse_while_capturing(CUstream_st& stream) {
  const std::lock_guard lock(capture_mutex);
  if (!stream.capture) return CUDA_SUCCESS;
  stream.capture->invalidated = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// By any thread on the same GPU, never on another one (ROCm/rocm-systems#4508).
CUresult refuse_implicit(CUstream_st& stream) {
  const auto is_on_device = [&](CUcontext context) {
    return context->device == stream.context->device;
  };
  const std::lock_guard lock(capture_mutex);
  const auto captures = implied_by(stream, is_on_device);
  for (const auto& capture : captures) capture->invalidated = true;
  return captures.empty() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

std::shared_ptr<Capture> capture_of(CUstream_st& stream) {
  const std::lock_guard lock(capture_mutex);
  return stream.capture;
}

CUgraph graph_of_capture(CUstream_st& stream) {
  const std::lock_guard lock(capture_mutex);
  return stream.capture ? stream.capture->graph.get() : nullptr;
}

CUresult record_in_capture(CUstream_st& stream, CUevent_st& event) {
  const std::lock_guard event_lock(event.mutex);
  const std::lock_guard lock(capture_mutex);
  if (!stream.capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event.capture = stream.capture;
  event.captured_from = &stream;
  event.captured_after = stream.capture->fronts[&stream].nodes;
  return CUDA_SUCCESS;
}

void invalidate_capture_of(CUevent handle) {
  const auto event = events().find(handle);
  if (!event) return;
  const std::lock_guard event_lock(event->mutex);
  const std::lock_guard lock(capture_mutex);
  if (event->capture) event->capture->invalidated = true;
}

CUresult join_capture(CUstream_st& stream, const CUevent_st& event) {
  const std::lock_guard lock(capture_mutex);
  const std::shared_ptr<Capture>& capture = event.capture;
  CUstream from = event.captured_from;
  if (stream.is_legacy) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (std::ranges::find(ongoing, capture) == ongoing.end()) return CUDA_ERROR_CAPTURED_EVENT;
  if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.capture && stream.capture != capture) {
    stream.capture->invalidated = true;
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  // What the other stream submitted after the event is not joined by it.
  const bool all = capture->fronts[from].nodes == event.captured_after;
  if (from != &stream && all) capture->unjoined.erase(from);
  std::vector<CUgraphNode>& front = capture->fronts[&stream].nodes;
  for (CUgraphNode node : event.captured_after) {
    if (std::ranges::find(front, node) == front.end()) front.push_back(node);
  }
  if (stream.capture) return CUDA_SUCCESS;
  stream.capture = capture;
  capture->members.insert(&stream);
  capture->unjoined.insert(&stream);
  return CUDA_SUCCESS;
}

void leave_capture(CUstream_st& stream) {
  const std::lock_guard lock(capture_mutex);
  const auto capture = stream.capture;
  if (!capture) return;
  const bool is_origin = capture->origin == &stream;
  if (is_origin || capture->unjoined.contains(&stream)) capture->invalidated = true;
  if (is_origin) return abandon(capture);
  stream.capture.reset();
  capture->fronts.erase(&stream);
  capture->members.erase(&stream);
  capture->unjoined.erase(&stream);
}

void forget_captures_of(CUcontext context) {
  const std::lock_guard lock(capture_mutex);
  const auto captures = ongoing;
  for (const auto& capture : captures) {
    if (capture->origin->context == context) abandon(capture);
  }
}

namespace body {

CUresult cuStreamBeginCapture(CUstream stream) {
  return begin_slowly(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin_slowly(stream, mode);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(capture_mutex);
  const auto capture = stream->capture;
  if (!capture || stream->is_legacy) return CUDA_ERROR_ILLEGAL_STATE;
  const bool any_thread = capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED;
  if (!any_thread && capture->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  *graph = nullptr;
  if (capture->origin != stream.get()) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  CUresult result = CUDA_SUCCESS;
  if (!capture->unjoined.empty()) result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (capture->invalidated) result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (result != CUDA_SUCCESS) return abandon(capture), result;
  end(capture);
  *graph = capture->graph.get();
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                     size_t count, CUstreamCaptureMode mode) {
  auto graph = graphs().find(handle);
  if (!graph || graph->capturing || !are_nodes_of(*graph, dependencies, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!is_plain(edges, count)) return CUDA_ERROR_NOT_SUPPORTED;
  return begin_slowly(stream, mode, std::move(graph), {dependencies, dependencies + count});
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return describe(stream, {.status = status});
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return describe(stream, {.status = status, .id = id});
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   size_t* count) {
  return describe(
      stream, {.status = status, .id = id, .graph = graph, .nodes = dependencies, .count = count});
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  return describe(stream, {.status = status,
                           .id = id,
                           .graph = graph,
                           .nodes = dependencies,
                           .edges = edges,
                           .count = count});
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* edges, size_t count,
                                              unsigned flags) {
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(capture_mutex);
  if (!stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (!are_nodes_of(*stream->capture->graph, dependencies, count)) return CUDA_ERROR_INVALID_VALUE;
  if (!is_plain(edges, count)) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<CUgraphNode>& front = stream->capture->fronts[stream.get()].nodes;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
    front.clear();
    stream->capture->unjoined.erase(stream.get());
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (std::ranges::find(front, dependencies[i]) == front.end()) front.push_back(dependencies[i]);
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                           unsigned flags) {
  return body::cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, mode_of_this_thread());
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
