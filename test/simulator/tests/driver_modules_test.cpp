// Variables of modules, and linking, through the driver face.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

constexpr char kText[] =
    "// made by a compiler\n.version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .const .align 8 .b8 parameters[4096];\n"
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".extern .shared .align 16 .b8 room[];\n"
    ".visible .entry kernel() { ld.global.u32 %r1, [counter]; ret; }\n";

// Seen by the test that reads this program's own file, as an object of its symbol table.
extern "C" {
[[gnu::used]] constinit char vramscope_test_variable[1234] = {1};
}

class DriverModules : public DriverTest {
 protected:
  CUmodule load(const void* image) {
    CUmodule module = nullptr;
    EXPECT_EQ(CALL(cuModuleLoadData)(&module, image), CUDA_SUCCESS);
    return module;
  }

  CUresult ask(CUmodule module, const char* name) {
    return CALL(cuModuleGetGlobal_v2)(&pointer_, &bytes_, module, name);
  }

  CUdeviceptr pointer_ = 0;
  std::size_t bytes_ = 0;
};

TEST_F(DriverModules, HaveTheVariablesThatTheirTextDeclares) {
  const CUmodule module = load(kText);

  EXPECT_EQ(ask(module, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(bytes_, 4u);
  EXPECT_EQ(ask(module, "parameters"), CUDA_SUCCESS);
  EXPECT_EQ(bytes_, 4096u);
  const CUdeviceptr first = pointer_;
  EXPECT_EQ(ask(module, "parameters"), CUDA_SUCCESS);
  EXPECT_EQ(pointer_, first);
  EXPECT_EQ(ask(module, "room"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(ask(module, "kernel"), CUDA_ERROR_NOT_FOUND);
}

constexpr char kLargeVariable[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .b8 table[268435456];\n";  // 256 MiB
constexpr std::size_t kLargeBytes = std::size_t{256} << 20;

TEST_F(DriverModules, TakeMemoryForTheirVariablesWhileTheyAreLoaded) {
  const std::size_t before = free_bytes();

  const CUmodule module = load(kLargeVariable);
  EXPECT_EQ(before - kLargeBytes, free_bytes());
  EXPECT_EQ(CUDA_SUCCESS, CALL(cuModuleUnload)(module));
  EXPECT_EQ(before, free_bytes());
}

TEST_F(DriverModules, AreRefusedWhereTheirVariablesDoNotFit) {
  const CUdeviceptr rest = allocate(free_bytes() - kLargeBytes / 2);
  const std::size_t before = free_bytes();
  CUmodule module = nullptr;

  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, CALL(cuModuleLoadData)(&module, kLargeVariable));
  EXPECT_EQ(before, free_bytes());
  CALL(cuMemFree_v2)(rest);
}

// A library is of no context: its variables have memory in each that asks for one.
TEST_F(DriverModules, OfALibraryTakeMemoryWhenTheyAreAskedFor) {
  CUlibrary library = nullptr;
  const std::size_t before = free_bytes();

  ASSERT_EQ(CUDA_SUCCESS, CALL(cuLibraryLoadData)(&library, kLargeVariable, nullptr, nullptr, 0,
                                                  nullptr, nullptr, 0));
  EXPECT_EQ(before, free_bytes());
  EXPECT_EQ(CUDA_SUCCESS, CALL(cuLibraryGetGlobal)(&pointer_, &bytes_, library, "table"));
  EXPECT_EQ(before - kLargeBytes, free_bytes());
  EXPECT_EQ(CUDA_SUCCESS, CALL(cuLibraryUnload)(library));
  EXPECT_EQ(before, free_bytes());
}

TEST_F(DriverModules, HoldTheBytesOfAVariableUntilTheyAreUnloaded) {
  const CUmodule module = load(kText);
  ASSERT_EQ(ask(module, "parameters"), CUDA_SUCCESS);
  int value = 42, back = 0;

  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(pointer_ + 4092, &value, 4), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&back, pointer_ + 4092, 4), CUDA_SUCCESS);
  EXPECT_EQ(back, 42);
  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(pointer_ + 4093, &value, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFree_v2)(pointer_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuModuleUnload)(module), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(pointer_, &value, 4), CUDA_ERROR_INVALID_VALUE);
}

// The context took the variable with it, and its address is a later allocation's.
TEST_F(DriverModules, LeaveMemoryOfOthersAloneOnceTheirContextEnded) {
  const CUmodule module = load(kLargeVariable);
  ASSERT_EQ(ask(module, "table"), CUDA_SUCCESS);
  CALL(cuDevicePrimaryCtxReset_v2)(0);
  SetUp();
  const CUdeviceptr other = allocate(kLargeBytes);
  ASSERT_EQ(other, pointer_);
  int value = 42;

  CALL(cuModuleUnload)(module);

  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(other, &value, 4), CUDA_SUCCESS);
}

TEST_F(DriverModules, HaveTheObjectsOfAnElfFile) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  const CUmodule module = load(image.data());

  EXPECT_EQ(ask(module, "vramscope_test_variable"), CUDA_SUCCESS);
  EXPECT_EQ(bytes_, 1234u);
  EXPECT_EQ(ask(module, "main"), CUDA_ERROR_NOT_FOUND);  // a function
}

TEST_F(DriverModules, AreLinkedFromTexts) {
  CUlinkState link = nullptr;
  void* image = nullptr;
  std::size_t bytes = 0;
  char log[16] = "not empty";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  char text[sizeof kText];
  std::memcpy(text, kText, sizeof kText);

  ASSERT_EQ(CALL(cuLinkCreate_v2)(2, options, values, &link), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuLinkComplete)(link, &image, &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuLinkAddData_v2)(link, CU_JIT_INPUT_PTX, text, sizeof text, "name", 0, nullptr,
                                   nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuLinkAddFile_v2)(link, CU_JIT_INPUT_PTX, "/nowhere", 0, nullptr, nullptr),
            CUDA_ERROR_FILE_NOT_FOUND);
  ASSERT_EQ(CALL(cuLinkComplete)(link, &image, &bytes), CUDA_SUCCESS);

  EXPECT_GE(bytes, sizeof kText);
  EXPECT_STREQ(log, "");
  EXPECT_EQ(values[1], nullptr);
  EXPECT_EQ(ask(load(image), "parameters"), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuLinkDestroy)(link), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuLinkDestroy)(link), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace vramscope::simulator
