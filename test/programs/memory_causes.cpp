// Runs out of memory, or not, for the cause that its first word names; each has a twin that it is
// mistaken for. With "slow" as the second it waits unevenly between its steps and long before its
// end: the same allocations, at other times.
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "test/programs/driver.h"

namespace {

constexpr int kMost = 1000;  // steps: memory runs out before
bool is_slow = false;

void wait(int ms) {
  if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

bool keep(std::size_t bytes) {
  CUdeviceptr block = 0;
  return cuMemAlloc(&block, bytes) == CUDA_SUCCESS;
}

bool use(std::size_t bytes) {
  CUdeviceptr block = 0;
  if (cuMemAlloc(&block, bytes) != CUDA_SUCCESS) return false;
  return cuMemFree(block) == CUDA_SUCCESS;
}

// Each step once; a slow one waits before a few of the first.
template <class Step>
void repeat(int steps, Step step) {
  for (int i = 0; i < steps; ++i) {
    if (i == 1 || i == 4) wait(15);
    if (!step(i)) return;
  }
}

[[gnu::noinline]] bool leak(std::size_t bytes) { return keep(bytes); }
[[gnu::noinline]] void load(int layers, std::size_t bytes) {
  repeat(layers, [&](int) { return keep(bytes); });
}
[[gnu::noinline]] void load_by_staging(int layers, std::size_t bytes) {
  repeat(layers, [&](int) { return use(4 * kMiB) && keep(bytes); });
}
[[gnu::noinline]] bool on_error(int call, std::size_t bytes) {
  CUdeviceptr block = 0;
  if (cuMemAlloc(&block, bytes) != CUDA_SUCCESS) return false;
  return call % 5 == 0 || cuMemFree(block) == CUDA_SUCCESS;
}

void end_by(std::size_t bytes) {
  repeat(60, [](int) { return use(8 * kMiB); });
  keep(bytes);
}

// A buffer that is freed and allocated anew.
[[gnu::noinline]] bool resize(CUdeviceptr& buffer, std::size_t bytes) {
  if (buffer != 0) MUST(cuMemFree(buffer));
  return cuMemAlloc(&buffer, bytes) == CUDA_SUCCESS;
}
void resize_often(std::size_t first, std::size_t more) {
  CUdeviceptr buffer = 0;
  repeat(kMost, [&](int i) {
    return i < 60 && resize(buffer, first + more * static_cast<std::size_t>(i));
  });
  keep(900 * kMiB);
}

// Keeps what it is asked for, and of more than `most` the newest.
void cache(std::size_t most, int requests) {
  std::vector<CUdeviceptr> kept;
  repeat(requests, [&](int) {
    kept.push_back(0);
    if (cuMemAlloc(&kept.back(), 10 * kMiB) != CUDA_SUCCESS) return false;
    if (kept.size() > most) {
      MUST(cuMemFree(kept.front()));
      kept.erase(kept.begin());
    }
    return use(8 * kMiB);
  });
}

[[gnu::noinline]] CUdeviceptr activations() { return allocate(600 * kMiB); }
[[gnu::noinline]] bool workspace(CUdeviceptr& block) {
  return cuMemAlloc(&block, 500 * kMiB) == CUDA_SUCCESS;
}
// Of two buffers, each freed before the other is asked for but in the last step.
void overlap(bool at_last) {
  for (int step = 0; step < 20; ++step) {
    CUdeviceptr first = activations();
    CUdeviceptr second = 0;
    if (at_last && step == 19) {
      workspace(second);
      MUST(cuMemFree(first));
      return;
    }
    MUST(cuMemFree(first));
    if (workspace(second)) MUST(cuMemFree(second));
  }
}

// Of blocks of which two share a segment, one of each two is freed, or both of every second two.
[[gnu::noinline]] void free_some_of(int count, bool frees_whole_ones) {
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back(allocate(kMiB));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if ((frees_whole_ones ? i / 2 : i) % 2 == 0) MUST(cuMemFree(blocks[i]));
  }
}
void keep_every_second(int count) { free_some_of(count, false); }
void pin_segments(bool frees_whole_ones) {
  free_some_of(1000, frees_whole_ones);
  end_by(300 * kMiB);
}

void in_steps(std::size_t bytes) {
  nvtxRangePushA("train");
  repeat(kMost, [&](int) {
    nvtxRangePushA("step");
    const bool is_served = keep(bytes);
    nvtxRangePop();
    return is_served;
  });
  nvtxRangePop();
}

// What comes before the marks that repeat was loaded; between them something leaks, unless `count`
// marks come first.
void between_marks(int count, std::size_t bytes) {
  const auto mark = [](int i) {
    nvtxMarkA(("loss " + std::to_string(i * i)).c_str());
    nvtxMarkA("step");
    return true;
  };
  repeat(count, mark);
  if (count != 0) return load(kMost, bytes);
  load(2, bytes);
  repeat(kMost, [&](int i) { return mark(i) && leak(bytes); });
}

const std::map<std::string, void (*)()> kCauses = {
    {"leak",
     [] {
       load(4, 10 * kMiB);
       repeat(kMost, [](int) { return leak(2 * kMiB) && use(8 * kMiB); });
     }},
    {"weights", [] { load(100, 9 * kMiB), end_by(200 * kMiB); }},  // as many, but at first

    {"rare_leak", [] { repeat(kMost, [](int i) { return on_error(i, 8 * kMiB); }); }},
    {"steady", [] { load(90, 10 * kMiB), end_by(200 * kMiB); }},  // the same calls, freed

    {"small_leak",  // beside a model that has most
     [] {
       load(9, 100 * kMiB);
       repeat(kMost, [](int) { return leak(2 * kMiB) && use(16 * kMiB); });
     }},
    {"model", [] { load(9, 100 * kMiB), end_by(300 * kMiB); }},

    {"requests", [] { load_by_staging(kMost, 30 * kMiB); }},
    {"staged", [] { load_by_staging(30, 30 * kMiB), end_by(200 * kMiB); }},  // it stops

    {"steps", [] { in_steps(10 * kMiB); }},
    {"row", [] { load(kMost, 10 * kMiB); }},  // a leak or a model: nobody can tell

    {"marks", [] { between_marks(0, 10 * kMiB); }},
    {"after_marks", [] { between_marks(100, 10 * kMiB); }},

    {"larger_buffer", [] { resize_often(10 * kMiB, 5 * kMiB); }},
    {"buffer", [] { resize_often(305 * kMiB, 0); }},

    {"endless_cache", [] { cache(kMost, kMost); }},
    {"cache", [] { cache(12, 30), keep(950 * kMiB); }},

    {"overlap", [] { overlap(true); }},
    {"in_turn", [] { overlap(false); }},

    {"asks_again", [] { keep_every_second(400), load(kMost, 100 * kMiB); }},
    {"asked_once", [] { keep_every_second(400), load(5, 100 * kMiB), end_by(250 * kMiB); }},

    {"pinned_segments", [] { pin_segments(false); }},
    {"free_segments", [] { pin_segments(true); }},

    {"slow_leak", [] { repeat(100, [](int) { return leak(2 * kMiB) && use(8 * kMiB); }); }},

    {"too_large", [] { end_by(2048 * kMiB); }},
    {"just_fits", [] { end_by(1000 * kMiB); }},
};

}  // namespace

int main(int count, char** words) {
  is_slow = count > 2 && std::strcmp(words[2], "slow") == 0;
  start();
  if (count > 1) kCauses.at(words[1])();
  wait(100);
}
