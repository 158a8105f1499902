// Two threads capture their own default streams; one ends, and memory is freed while the other goes
// on. SPDX-License-Identifier: Apache-2.0
#include <future>
#include <thread>

#include "test/programs/driver.h"

namespace {

// Captures from its making until end().
class Capturing {
 public:
  explicit Capturing(CUcontext context) : thread_([this, context] { capture(context); }) {
    begun_.get_future().wait();
  }
  void end(const char* who) {
    who_ = who;
    may_end_.set_value();
    thread_.join();
  }

 private:
  void capture(CUcontext context) {
    CUgraph graph = nullptr;
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    begun_.set_value();
    may_end_.get_future().wait();
    show(who_, cuStreamEndCapture(CU_STREAM_PER_THREAD, &graph));
  }

  const char* who_ = "";
  std::promise<void> begun_;
  std::promise<void> may_end_;
  std::thread thread_;
};

}  // namespace

int main() {
  CUcontext context = start();
  const CUdeviceptr memory = allocate(4 * kMiB);
  Capturing first(context);
  Capturing second(context);
  first.end("the first ends");
  show("free", cuMemFree(memory));
  second.end("the second ends");
}
