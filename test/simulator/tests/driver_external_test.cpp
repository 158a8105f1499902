// External memory through the driver face.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

using DriverExternal = DriverTest;

TEST_F(DriverExternal, IsMappedAsMemoryThatIsFreed) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC told = {};
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {};
  CUexternalMemory memory = nullptr;
  CUdeviceptr pointer = 0;
  told.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  told.handle.fd = memfd_create("external", 0);
  told.size = 4096;
  buffer.offset = 1024;
  buffer.size = 3072;

  ASSERT_EQ(CALL(cuImportExternalMemory)(&memory, &told), CUDA_SUCCESS);
  EXPECT_EQ(fcntl(told.handle.fd, F_GETFD), -1);  // the driver's now
  EXPECT_EQ(CALL(cuExternalMemoryGetMappedBuffer)(&pointer, memory, &buffer), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemsetD8_v2)(pointer, 1, 3072), CUDA_SUCCESS);
  buffer.size = 3073;
  EXPECT_EQ(CALL(cuExternalMemoryGetMappedBuffer)(&pointer, memory, &buffer),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFree_v2)(pointer), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuDestroyExternalMemory)(memory), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuDestroyExternalMemory)(memory), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverExternal, OtherHandlesAreNotSupported) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC told = {};
  CUexternalMemory memory = nullptr;
  told.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF;
  told.size = 4096;

  EXPECT_EQ(CALL(cuImportExternalMemory)(&memory, &told), CUDA_ERROR_NOT_SUPPORTED);
  told.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  told.handle.fd = -1;

  EXPECT_EQ(CALL(cuImportExternalMemory)(&memory, &told), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace vramscope::simulator
