// Eight threads with two streams each allocate, write and check blocks by kernels, and free them
// while the kernels run. No block may change while its program still writes to it.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <array>
#include <random>
#include <thread>

#include "test/programs/driver.h"

constexpr int kThreads = 8;
constexpr int kBlocks = 300;       // of each thread
constexpr unsigned kRepeats = 20;  // of a kernel that writes, so that a free comes before its end

// fill: writes `value` to each word, `repeats` times. check: adds the words that have another value
// to *wrong.
static const char kKernels[] = R"(
.version 6.4
.target sm_52
.address_size 64
.visible .entry fill(.param .u64 at, .param .u64 count, .param .u64 value, .param .u64 repeats)
{
  .reg .u64 %at, %count, %value, %repeats, %i, %first, %step, %offset;
  .reg .u32 %block, %threads, %thread, %blocks, %word;
  .reg .pred %more;
  ld.param.u64 %at, [at];
  ld.param.u64 %count, [count];
  ld.param.u64 %value, [value];
  ld.param.u64 %repeats, [repeats];
  cvt.u32.u64 %word, %value;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  cvt.u64.u32 %first, %thread;
  mad.wide.u32 %first, %block, %threads, %first;
  mul.wide.u32 %step, %blocks, %threads;
again:
  mov.u64 %i, %first;
words:
  setp.ge.u64 %more, %i, %count;
  @%more bra written;
  shl.b64 %offset, %i, 2;
  add.u64 %offset, %offset, %at;
  st.volatile.global.u32 [%offset], %word;
  add.u64 %i, %i, %step;
  bra words;
written:
  sub.u64 %repeats, %repeats, 1;
  setp.ne.u64 %more, %repeats, 0;
  @%more bra again;
  ret;
}
.visible .entry check(.param .u64 at, .param .u64 count, .param .u64 value, .param .u64 wrong)
{
  .reg .u64 %at, %count, %value, %wrong, %i, %step, %offset;
  .reg .u32 %block, %threads, %thread, %blocks, %word, %found, %old;
  .reg .pred %is;
  ld.param.u64 %at, [at];
  ld.param.u64 %count, [count];
  ld.param.u64 %value, [value];
  ld.param.u64 %wrong, [wrong];
  cvt.u32.u64 %word, %value;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  cvt.u64.u32 %i, %thread;
  mad.wide.u32 %i, %block, %threads, %i;
  mul.wide.u32 %step, %blocks, %threads;
words:
  setp.ge.u64 %is, %i, %count;
  @%is bra end;
  shl.b64 %offset, %i, 2;
  add.u64 %offset, %offset, %at;
  ld.volatile.global.u32 %found, [%offset];
  setp.eq.u32 %is, %found, %word;
  @%is bra next;
  atom.global.add.u32 %old, [%wrong], 1;
next:
  add.u64 %i, %i, %step;
  bra words;
end:
  ret;
}
)";

struct Kernels {
  CUfunction fill, check;
};

static void launch(CUfunction kernel, CUstream stream, std::array<unsigned long long, 4> numbers) {
  void* arguments[] = {&numbers[0], &numbers[1], &numbers[2], &numbers[3]};
  MUST(cuLaunchKernel(kernel, 32, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr));
}

static void work(CUcontext context, Kernels kernels, CUdeviceptr wrong, int number) {
  MUST(cuCtxSetCurrent(context));
  std::array<CUstream, 2> streams{};
  for (CUstream& stream : streams) MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::mt19937 random(number);
  std::vector<CUdeviceptr> live;
  for (int i = 0; i < kBlocks; ++i) {
    const std::size_t bytes = (random() % 2 == 0 ? 4096 : 4 * kMiB) + 4 * (random() % 100000);
    const unsigned long long value = number * kBlocks + i + 1;
    CUstream stream = streams[random() % streams.size()];
    live.push_back(allocate(bytes));
    launch(kernels.fill, stream, {live.back(), bytes / 4, value, kRepeats});
    launch(kernels.check, stream, {live.back(), bytes / 4, value, wrong});
    if (live.size() < 8 && random() % 2 == 0) continue;
    std::swap(live[random() % live.size()], live.back());
    MUST(cuMemFree(live.back()));
    live.pop_back();
  }
  for (CUdeviceptr block : live) MUST(cuMemFree(block));
  for (CUstream stream : streams) MUST(cuStreamSynchronize(stream));
  for (CUstream stream : streams) MUST(cuStreamDestroy(stream));
}

int main() {
  const CUcontext context = start();
  CUmodule module;
  Kernels kernels{};
  MUST(cuModuleLoadData(&module, kKernels));
  MUST(cuModuleGetFunction(&kernels.fill, module, "fill"));
  MUST(cuModuleGetFunction(&kernels.check, module, "check"));
  const CUdeviceptr wrong = allocate(4);
  MUST(cuMemsetD8(wrong, 0, 4));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([=] { work(context, kernels, wrong, i); });
  }
  for (std::thread& thread : threads) thread.join();
  unsigned words = 0;
  MUST(cuCtxSynchronize());
  MUST(cuMemcpyDtoH(&words, wrong, 4));
  MUST(cuMemFree(wrong));
  if (dlsym(RTLD_DEFAULT, "vramscope_simulated_launches") != nullptr) {
    std::printf("no contents checked: kernels do not run on the simulated device\n");
  }
  std::printf("%d blocks, %u wrong words\n", kThreads * kBlocks, words);
  return words == 0 ? 0 : 1;
}
