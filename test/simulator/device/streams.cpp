// The order of work between the streams of a context.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/streams.h"

#include <utility>

#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

Point StreamSet::submit(CUstream_st& stream, Engine::Work work, std::vector<Point> after) {
  const std::lock_guard lock(mutex_);
  if (stream.is_legacy) {
    for (Point& tail : blocking_tails()) after.push_back(std::move(tail));
  } else if (stream.flags != CU_STREAM_NON_BLOCKING && legacy_) {
    after.push_back(legacy_->engine->tail());
  }
  return stream.engine->submit(std::move(work), std::move(after));
}

std::shared_ptr<CUstream_st> StreamSet::legacy(CUcontext context) {
  const std::lock_guard lock(mutex_);
  if (!legacy_) {
    legacy_ = make(context, 0, 0);
    legacy_->is_legacy = true;
  }
  return legacy_;
}

std::shared_ptr<CUstream_st> StreamSet::of_this_thread(CUcontext context) {
  const std::lock_guard lock(mutex_);
  auto& stream = per_thread_[std::this_thread::get_id()];
  if (!stream) streams_.insert(stream = make(context, 0, 0));
  return stream;
}

std::shared_ptr<CUstream_st> StreamSet::create(CUcontext context, unsigned flags, int priority) {
  const std::lock_guard lock(mutex_);
  auto stream = make(context, flags, priority);
  streams_.insert(stream);
  return stream;
}

void StreamSet::close(const std::shared_ptr<CUstream_st>& stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
  std::erase_if(leftovers_, [](const Point& point) { return point.reached(); });
  leftovers_.push_back(stream->engine->tail());
  stream->engine->close();
}

void StreamSet::close_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_) stream->engine->close();
  if (legacy_) legacy_->engine->close();
  streams_.clear();
  per_thread_.clear();
  legacy_.reset();
  leftovers_.clear();
}

std::vector<Point> StreamSet::tails(CUstream_st& stream) {
  const std::lock_guard lock(mutex_);
  std::vector<Point> points;
  if (stream.is_legacy) points = blocking_tails();
  points.push_back(stream.engine->tail());
  return points;
}

std::vector<Point> StreamSet::all_tails() {
  const std::lock_guard lock(mutex_);
  std::vector<Point> points = leftovers_;
  for (const auto& stream : streams_) points.push_back(stream->engine->tail());
  if (legacy_) points.push_back(legacy_->engine->tail());
  return points;
}

std::shared_ptr<CUstream_st> StreamSet::make(CUcontext context, unsigned flags, int priority) {
  auto stream = std::make_shared<CUstream_st>();
  stream->context = context;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = driver().next_id++;
  stream->engine = std::make_shared<Engine>(configuration().delay_us);
  return stream;
}

std::vector<Point> StreamSet::blocking_tails() {
  std::vector<Point> points;
  for (const auto& stream : streams_) {
    if (stream->flags != CU_STREAM_NON_BLOCKING) points.push_back(stream->engine->tail());
  }
  return points;
}

Handles<CUstream_st>& streams() {
  static auto& all = *new Handles<CUstream_st>;
  return all;
}

Handles<CUevent_st>& events() {
  static auto& all = *new Handles<CUevent_st>;
  return all;
}

std::shared_ptr<CUstream_st> resolve(CUstream handle) {
  CUcontext context = current_context();
  const bool thread_default =
      handle == CU_STREAM_PER_THREAD ||
      (handle == nullptr && default_stream_flavour() == Flavour::per_thread);
  if (thread_default) return context->streams.of_this_thread(context);
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return context->streams.legacy(context);
  return streams().find(handle);
}

}  // namespace vramscope::simulator
