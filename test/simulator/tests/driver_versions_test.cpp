// Older drivers, and drivers that lack single entries: what lookups find. Each test has a process
// of its own.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "test/simulator/tests/driver_fixture.h"
#include "test/simulator/tests/plain_bytes.h"

namespace vramscope::simulator {
namespace {

// Runs the body in a child that loads the driver with these settings; 0 when all of it held.
int in_process(const std::string& settings, const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("VRAMSCOPE_SIM", settings.c_str(), 1);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool has(const char* symbol) { return dlsym(library(), symbol) != nullptr; }

// The older lookup is in every driver since 11.3.
void* ask(const char* name, int version) {
  void* found = nullptr;
  const CUresult result = CALL(cuGetProcAddress)(name, &found, version, 0);
  return result == CUDA_SUCCESS ? found : nullptr;
}

bool works() {
  CUcontext context = nullptr;
  CUdeviceptr pointer = 0;
  return CALL(cuInit)(0) == CUDA_SUCCESS &&
         CALL(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS &&
         CALL(cuCtxSetCurrent)(context) == CUDA_SUCCESS &&
         CALL(cuMemAlloc_v2)(&pointer, 100) == CUDA_SUCCESS &&
         CALL(cuMemAllocAsync)(&pointer, 100, nullptr) == CUDA_SUCCESS &&
         CALL(cuMemFreeAsync)(pointer, nullptr) == CUDA_SUCCESS;
}

class DriverVersions : public testing::TestWithParam<int> {};

TEST_P(DriverVersions, HaveWhatIsNoYoungerThanTheyAre) {
  const int version = GetParam();
  const auto body = [version] {
    int told = 0;
    CALL(cuDriverGetVersion)(&told);
    return told == version && works() && has("cuMemAllocAsync") &&
           has("cuGetProcAddress_v2") == (version >= 12000) &&
           has("cuGraphAddNode_v2") == (version >= 12030) &&
           has("cuMemGetMemPool") == (version >= 13000) &&
           (ask("cuGraphAddNode", version) != nullptr) == (version >= 12020) &&
           (ask("cuMemGetMemPool", version) != nullptr) == (version >= 13000) &&
           ask("cuMemAlloc", version) == dlsym(library(), "cuMemAlloc_v2") &&
           (ask("cuMemAlloc", version + 10) != nullptr) == (version < 13000);
  };

  EXPECT_EQ(in_process("driver_version=" + std::to_string(version), body), 0);
}

INSTANTIATE_TEST_SUITE_P(Each, DriverVersions,
                         testing::Values(11080, 12000, 12020, 12030, 12080, 13000));

TEST(DriverLacks, ANameWithAllItsVersionsAndTwins) {
  EXPECT_EQ(in_process("lacks=cuMemAllocAsync+cuGraphAddNode",
                       [] {
                         return !has("cuMemAllocAsync") && !has("cuMemAllocAsync_ptsz") &&
                                !has("cuGraphAddNode") && !has("cuGraphAddNode_v2") &&
                                ask("cuMemAllocAsync", 13000) == nullptr &&
                                ask("cuGraphAddNode", 13000) == nullptr && has("cuMemFreeAsync") &&
                                has("cuGraphAddEmptyNode");
                       }),
            0);
}

TEST(DriverLacks, OneExportedSymbol) {
  EXPECT_EQ(in_process("lacks=cuGraphAddNode_v2",
                       [] {
                         return has("cuGraphAddNode") && !has("cuGraphAddNode_v2") &&
                                ask("cuGraphAddNode", 13000) == dlsym(library(), "cuGraphAddNode");
                       }),
            0);
}

TEST(DriverLacks, EvenTheLookup) {
  EXPECT_EQ(
      in_process("lacks=cuGetProcAddress", [] { return !has("cuGetProcAddress_v2") && works(); }),
      0);
}

// UCX and others write a jump over the first bytes and run what stood there elsewhere.
TEST(DriverEntries, BeginWithCodeThatPatchersCanMove) {
#ifdef __aarch64__
  GTEST_SKIP() << "what such tools can move is known of x86-64 alone";
#endif
  constexpr const char* kSymbols[] = {
#define DRIVER(symbol, asked, since, needs) #symbol,
#define STREAMED(symbol, asked, since, suffix, needs) #symbol, #symbol #suffix,
#define UNSUPPORTED(symbol, asked, since) #symbol,
#define UNSUPPORTED_STREAMED(symbol, asked, since, suffix) #symbol, #symbol #suffix,
#include "test/simulator/driver/functions.def"
#include "test/simulator/driver/unsupported.def"
#undef DRIVER
#undef STREAMED
#undef UNSUPPORTED
#undef UNSUPPORTED_STREAMED
  };
  const auto body = [&kSymbols] {
    return std::ranges::all_of(kSymbols, [](const char* symbol) {
      const void* const entry = dlsym(library(), symbol);
      return entry == nullptr ||
             plain_bytes(entry) >= kPatchBytes;  // null: younger than the driver
    });
  };

  EXPECT_EQ(in_process("", body), 0);
}

}  // namespace
}  // namespace vramscope::simulator
