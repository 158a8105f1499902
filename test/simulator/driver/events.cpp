// Events: moments in the order of a stream, and waits for them.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

namespace {

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

// What an event stands for: a point of this process, or what any process recorded last.
struct Moment {
  Point point;
  std::shared_ptr<SharedMoments> shared;
  std::uint64_t number = 0;

  [[nodiscard]] bool exists() const { return point.engine != nullptr || number != 0; }
  [[nodiscard]] bool reached() const { return shared ? shared->reached(number) : point.reached(); }
  void wait() const { shared ? shared->wait(number) : point.wait(); }
};

// The event's mutex is the caller's.
Moment moment_of(const CUevent_st& event) {
  if (!event.shared) return {.point = event.point, .shared = {}};
  return {.point = {}, .shared = event.shared, .number = event.shared->last()};
}

// An event that was recorded inside a capture is no moment that anybody can wait for.
CUresult moment_of(CUevent handle, Moment* moment) {
  const auto event = events().find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(event->mutex);
  if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
  *moment = moment_of(*event);
  return CUDA_SUCCESS;
}

// An event that a capture recorded is refused at once and ends the use of its capture, whatever its
// mode (OPEN.md); one from outside is an unsafe call (hip-tests
// graph/hipStreamBeginCapture.cc:802).
CUresult moment_outside(CUevent event, Moment* moment) {
  const CUresult result = moment_of(event, moment);
  if (result == CUDA_ERROR_CAPTURED_EVENT) {
    invalidate_capture_of(event);
    return result;
  }
  const CUresult refusal = refuse_in_capture();
  return refusal != CUDA_SUCCESS ? refusal : result;
}

// A record or a wait that a graph shall do each time it is launched.
CUgraphNodeParams external_node(CUgraphNodeType type, CUevent event) {
  CUgraphNodeParams node = parameters_for(type);
  node.eventRecord.event = event;  // the wait's parameters have the same form
  return node;
}

CUresult record(CUevent handle, CUstream stream_handle, bool external) {
  const auto event = events().find(handle);
  const auto stream = resolve(stream_handle);
  if (!event || !stream || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  if (capture_of(*stream)) {
    if (const CUresult no = refuse_implicit(*stream); no != CUDA_SUCCESS) return no;
    if (!external) return record_in_capture(*stream, *event);
    return record_node(*stream,
                       {.parameters = external_node(CU_GRAPH_NODE_TYPE_EVENT_RECORD, handle)});
  }
  if (external) return CUDA_ERROR_INVALID_VALUE;  // cuda.h: only while capturing
  auto done = std::make_shared<std::atomic<std::int64_t>>(0);
  Point point;
  const CUresult result = submit(
      *stream, [done] { *done = now_ns(); }, &point);
  if (result == CUDA_SUCCESS) record_at(*event, std::move(point), std::move(done));
  return result;
}

}  // namespace

std::int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void record_at(CUevent_st& event, Point point, std::shared_ptr<std::atomic<std::int64_t>> done) {
  const std::lock_guard lock(event.mutex);
  event.recorded = true;
  event.capture.reset();
  event.point = std::move(point);
  event.done_ns = std::move(done);
  if (!event.shared) return;
  const std::uint64_t number = event.shared->begin();
  event.point.engine->submit([shared = event.shared, number] { shared->reach(number); }, {});
}

namespace body {

CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  if (handle == nullptr || (flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto event = std::make_shared<CUevent_st>();
  event->context = current_context();
  event->flags = flags;
  if ((flags & CU_EVENT_INTERPROCESS) != 0) {
    event->shared = std::make_shared<SharedMoments>();
    if (!event->shared->ok()) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle = events().add(std::move(event));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  return events().remove(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventDestroy(CUevent event) { return body::cuEventDestroy_v2(event); }

CUresult cuEventRecord(CUevent event, CUstream stream) { return record(event, stream, false); }

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  return record(event, stream, flags == CU_EVENT_RECORD_EXTERNAL);
}

CUresult cuEventQuery(CUevent event) {
  Moment moment;
  if (const CUresult no = moment_outside(event, &moment); no != CUDA_SUCCESS) return no;
  return moment.reached() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
  Moment moment;
  if (const CUresult no = moment_outside(event, &moment); no != CUDA_SUCCESS) return no;
  moment.wait();
  trim_pools();
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::int64_t when_ns[2] = {};
  CUevent both[2] = {start, end};
  for (int i = 0; i < 2; ++i) {
    const auto event = events().find(both[i]);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    const std::lock_guard lock(event->mutex);
    if (!event->recorded || (event->flags & CU_EVENT_DISABLE_TIMING) != 0) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!event->point.reached()) return CUDA_ERROR_NOT_READY;
    when_ns[i] = *event->done_ns;
  }
  *milliseconds = static_cast<float>(when_ns[1] - when_ns[0]) / 1e6f;
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return body::cuEventElapsedTime_v2(milliseconds, start, end);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
  if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = resolve(handle);
  const auto event = events().find(event_handle);
  if (!stream || !event) return CUDA_ERROR_INVALID_HANDLE;
  Moment moment;
  {
    const std::lock_guard lock(event->mutex);
    if (flags == CU_EVENT_WAIT_EXTERNAL) {
      if (!capture_of(*stream)) return CUDA_ERROR_INVALID_VALUE;  // cuda.h: only while capturing
      return record_node(
          *stream, {.parameters = external_node(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_handle)});
    }
    if (event->capture) return join_capture(*stream, *event);
    moment = moment_of(*event);
  }
  // A moment outside the capture cannot be waited for inside (cuda.h: isolation).
  if (const auto capture = capture_of(*stream); capture && moment.exists()) {
    (void)refuse_while_capturing(*stream);
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (const CUresult no = refuse_implicit(*stream); no != CUDA_SUCCESS) return no;
  if (!moment.exists()) return CUDA_SUCCESS;
  if (moment.shared) return submit(*stream, [moment] { moment.wait(); });
  stream->context->streams.submit(*stream, {}, {moment.point});
  return CUDA_SUCCESS;
}

}  // namespace body

}  // namespace vramscope::simulator
