// Variables of modules, and linking, through the driver face.
// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

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

  // Reads the first bytes of the variable that was asked for last.
  template <class Value>
  Value read() {
    Value value = {};
    EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&value, pointer_, sizeof value), CUDA_SUCCESS);
    return value;
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

constexpr char kValues[] =
    ".version 9.0\n.target sm_80\n.address_size 64\n"
    ".global .align 8 .f64 real = 0dBFF8000000000000;\n"
    ".global .align 8 .u64 most = -1;\n"
    ".const .align 2 .b8 list[6] = {1, 0, 254, 255, 0x03};\n"
    ".visible .global .align 8 .u64 address = generic(real);\n"
    ".global .attribute(.managed) .align 4 .u32 shared = 41;\n";

TEST_F(DriverModules, BeginWithTheValuesThatTheirTextGives) {
  const CUmodule module = load(kValues);

  EXPECT_EQ(ask(module, "real"), CUDA_SUCCESS);
  EXPECT_EQ(read<double>(), -1.5);
  EXPECT_EQ(ask(module, "most"), CUDA_SUCCESS);
  EXPECT_EQ(read<std::uint64_t>(), ~std::uint64_t{0});
  EXPECT_EQ(ask(module, "list"), CUDA_SUCCESS);
  EXPECT_EQ(read<std::uint32_t>(), 0xfffe0001u);
  pointer_ += 4;
  EXPECT_EQ(read<std::uint16_t>(), 3u);
  EXPECT_EQ(ask(module, "address"), CUDA_SUCCESS);
  EXPECT_EQ(read<std::uint64_t>(), 0u);
}

TEST_F(DriverModules, HaveManagedVariablesThatTheHostCanUse) {
  const CUmodule module = load(kValues);
  int is_managed = 0;

  ASSERT_EQ(ask(module, "shared"), CUDA_SUCCESS);
  int* const shared = reinterpret_cast<int*>(pointer_);
  EXPECT_EQ(*shared, 41);
  *shared = 42;
  EXPECT_EQ(read<int>(), 42);
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer_),
            CUDA_SUCCESS);
  EXPECT_EQ(is_managed, 1);
  EXPECT_EQ(CALL(cuMemFree_v2)(pointer_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuModuleUnload)(module), CUDA_SUCCESS);
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
  EXPECT_EQ(read<std::uint16_t>(), 1u);
  EXPECT_EQ(ask(module, "main"), CUDA_ERROR_NOT_FOUND);  // a function
}

constexpr char kEntries[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry plain(\n\t.param .u64 .ptr .global .align 1 plain_param_0,\n"
    "\t.param .u32 plain_param_1,\n\t.param .f64 plain_param_2,\n"
    "\t.param .align 1 .b8 plain_param_3[24],\n\t.param .u8 plain_param_4\n)\n{ ret; }\n"
    ".visible .entry none()\n{ ret; }\n";

TEST_F(DriverModules, KnowTheParametersThatTheirTextDeclares) {
  const CUmodule module = load(kEntries);
  CUfunction plain = nullptr, none = nullptr, other = nullptr;
  std::size_t offset = 0, bytes = 0;
  const auto ask = CALL(cuFuncGetParamInfo);
  CALL(cuModuleGetFunction)(&plain, module, "plain");
  CALL(cuModuleGetFunction)(&none, module, "none");
  CALL(cuModuleGetFunction)(&other, module, "other");

  constexpr std::size_t kExpected[][2] = {{0, 8}, {8, 4}, {16, 8}, {24, 24}, {48, 1}};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(ask(plain, i, &offset, &bytes), CUDA_SUCCESS) << i;
    EXPECT_EQ(offset, kExpected[i][0]) << i;
    EXPECT_EQ(bytes, kExpected[i][1]) << i;
  }
  EXPECT_EQ(ask(plain, 0, &offset, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(ask(plain, 0, nullptr, &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask(plain, 5, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask(none, 0, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask(other, 0, &offset, &bytes), CUDA_ERROR_NOT_SUPPORTED);
}

// What ptxas 13 writes of the same kernel (-arch=sm_80), in an ELF file of that section and names.
TEST_F(DriverModules, KnowTheParametersThatAnElfFileTells) {
  constexpr unsigned char kInfo[] = {
      0x04, 0x17, 0x0c, 0, 0, 0, 0, 0,    4,    0,    0x30, 0,    0,    0xf0, 0x05, 0,    0x04,
      0x17, 0x0c, 0,    0, 0, 0, 0, 3,    0,    0x18, 0,    0,    0xf0, 0x61, 0,    0x04, 0x17,
      0x0c, 0,    0,    0, 0, 0, 2, 0,    0x10, 0,    0,    0xf0, 0x21, 0,    0x04, 0x17, 0x0c,
      0,    0,    0,    0, 0, 1, 0, 0x08, 0,    0,    0xf0, 0x11, 0,    0x04, 0x17, 0x0c, 0,
      0,    0,    0,    0, 0, 0, 0, 0,    0,    0xf0, 0x21, 0,    0x03, 0x1b, 0xff, 0};
  constexpr char kNames[] = "\0.nv.info.plain";
  std::string image(sizeof(Elf64_Ehdr), '\0');
  const auto put = [&](const void* from, std::size_t bytes) {
    const std::size_t at = image.size();
    image.append(static_cast<const char*>(from), bytes);
    return at;
  };
  const std::size_t info = put(kInfo, sizeof kInfo), names = put(kNames, sizeof kNames);
  Elf64_Shdr sections[2] = {};
  sections[0] = {.sh_name = 1,
                 .sh_type = SHT_LOPROC,
                 .sh_flags = 0,
                 .sh_addr = 0,
                 .sh_offset = info,
                 .sh_size = sizeof kInfo,
                 .sh_link = 0,
                 .sh_info = 0,
                 .sh_addralign = 4,
                 .sh_entsize = 0};
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = names;
  sections[1].sh_size = sizeof kNames;
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, "\177ELF\2", 5);
  header.e_shoff = put(sections, sizeof sections);
  header.e_shnum = 2;
  header.e_shstrndx = 1;
  std::memcpy(image.data(), &header, sizeof header);
  CUfunction plain = nullptr;
  std::size_t offset = 0, bytes = 0;
  CALL(cuModuleGetFunction)(&plain, load(image.data()), "plain");

  EXPECT_EQ(CALL(cuFuncGetParamInfo)(plain, 3, &offset, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(offset, 24u);
  EXPECT_EQ(bytes, 24u);
  EXPECT_EQ(CALL(cuFuncGetParamInfo)(plain, 4, &offset, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(offset, 48u);
  EXPECT_EQ(bytes, 1u);
  EXPECT_EQ(CALL(cuFuncGetParamInfo)(plain, 5, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
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
