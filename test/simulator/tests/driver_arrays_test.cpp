// Arrays through the driver face: sizes, bytes, levels, planes, what looks at them.
// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <vector>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

class DriverArrays : public DriverTest {
 protected:
  CUarray create(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    CUarray array = nullptr;
    EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &descriptor), CUDA_SUCCESS);
    return array;
  }
};

TEST_F(DriverArrays, TakeTheirAlignedSizeFromTheDevice) {
  const std::size_t before = free_bytes();
  const CUarray array = create({1000, 1023, 0, CU_AD_FORMAT_FLOAT, 1, 0});  // 4032 by 1024

  EXPECT_EQ(free_bytes(), before - 4 * kMiB);
  EXPECT_EQ(CALL(cuArrayDestroy)(array), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuArrayDestroy)(array), CUDA_ERROR_INVALID_HANDLE);

  EXPECT_EQ(free_bytes(), before);
}

TEST_F(DriverArrays, EndWithTheirContext) {
  const std::size_t before = free_bytes();
  create({4096, 1024, 0, CU_AD_FORMAT_FLOAT, 1, 0});

  CALL(cuDevicePrimaryCtxReset_v2)(0);
  SetUp();

  EXPECT_EQ(free_bytes(), before);
}

TEST_F(DriverArrays, CarryBoxesOfBytes) {
  const CUarray array = create({30, 20, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0});
  std::vector<unsigned char> in(30 * 20 * 4), out(10 * 5 * 2);
  std::iota(in.begin(), in.end(), static_cast<unsigned char>(0));
  CUDA_MEMCPY3D to = {}, from = {};
  to.srcMemoryType = CU_MEMORYTYPE_HOST;
  to.srcHost = in.data();
  to.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  to.dstArray = array;
  to.WidthInBytes = 30;
  to.Height = 20;
  to.Depth = 4;
  from.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  from.srcArray = array;
  from.srcXInBytes = 7;
  from.srcY = 3;
  from.srcZ = 2;
  from.dstMemoryType = CU_MEMORYTYPE_HOST;
  from.dstHost = out.data();
  from.WidthInBytes = 10;
  from.Height = 5;
  from.Depth = 2;

  EXPECT_EQ(CALL(cuMemcpy3D_v2)(&to), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpy3D_v2)(&from), CUDA_SUCCESS);
  EXPECT_EQ(out[0], in[2 * 600 + 3 * 30 + 7]);
  EXPECT_EQ(out[50 + 4 * 10 + 9], in[3 * 600 + 7 * 30 + 16]);
  from.srcXInBytes = 21;

  EXPECT_EQ(CALL(cuMemcpy3D_v2)(&from), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverArrays, CarryLinesAndReplayedCopies) {
  const CUarray array = create({64, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0});
  const CUdeviceptr device = allocate(64);
  const CUstream work = stream();
  char back[8] = {};
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.srcXInBytes = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.WidthInBytes = 8;
  copy.Height = copy.Depth = 1;
  CUgraphNode node = nullptr;
  CALL(cuGraphCreate)(&graph, 0);

  EXPECT_EQ(CALL(cuMemcpyHtoA_v2)(array, 8, "through", 8), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyAtoH_v2)(back, array, 8, 8), CUDA_SUCCESS);
  EXPECT_STREQ(back, "through");
  EXPECT_EQ(CALL(cuMemcpyHtoA_v2)(array, 60, "through", 8), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(CALL(cuGraphAddMemcpyNode)(&node, graph, nullptr, 0, &copy, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&executable, graph, 0), CUDA_SUCCESS);
  CALL(cuMemcpyHtoA_v2)(array, 8, "replays", 8);
  EXPECT_EQ(CALL(cuGraphLaunch)(executable, work), CUDA_SUCCESS);
  CALL(cuStreamSynchronize)(work);
  CALL(cuMemcpyDtoH_v2)(back, device, 8);

  EXPECT_STREQ(back, "replays");
  CALL(cuGraphDestroy)(graph);
}

TEST_F(DriverArrays, RefuseWhatNoArrayIs) {
  CUarray array = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR wrong[] = {
      {0, 1, 0, CU_AD_FORMAT_FLOAT, 1, 0},
      {1, 0, 1, CU_AD_FORMAT_FLOAT, 1, 0},
      {1, 1, 0, CU_AD_FORMAT_FLOAT, 3, 0},
      {8, 4, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP},
      {8, 8, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED},
      {1, 1, 0, CU_AD_FORMAT_FLOAT, 1, 0x1000},
  };

  for (const auto& descriptor : wrong) {
    EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &descriptor), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, nullptr), CUDA_ERROR_INVALID_VALUE);

  const CUDA_ARRAY3D_DESCRIPTOR huge = {16384, 16384, 16384, CU_AD_FORMAT_FLOAT, 4, 0};
  EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &huge), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(DriverArrays, WithoutMappingTakeNothing) {
  const std::size_t before = free_bytes();
  const CUarray sparse = create({4096, 4096, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE});
  const CUarray deferred =
      create({4096, 4096, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING});
  CUDA_ARRAY_SPARSE_PROPERTIES properties = {};
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};

  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(CALL(cuArrayGetSparseProperties)(&properties, sparse), CUDA_SUCCESS);
  EXPECT_EQ(properties.tileExtent.width * properties.tileExtent.height * 4, 65536u);
  EXPECT_EQ(CALL(cuArrayGetSparseProperties)(&properties, deferred), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuArrayGetMemoryRequirements)(&needs, deferred, 0), CUDA_SUCCESS);
  EXPECT_EQ(needs.size, 64 * kMiB);
  EXPECT_EQ(CALL(cuArrayGetMemoryRequirements)(&needs, sparse, 0), CUDA_ERROR_INVALID_VALUE);

  EXPECT_EQ(CALL(cuMemcpyHtoA_v2)(sparse, 0, "x", 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverArrays, MipmapsHaveLevelsOfHalfTheSize) {
  const std::size_t before = free_bytes();
  CUmipmappedArray mipmap = nullptr;
  CUarray level = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {1024, 512, 0, CU_AD_FORMAT_FLOAT, 1, 0}, seen = {};

  EXPECT_EQ(CALL(cuMipmappedArrayCreate)(&mipmap, &descriptor, 100), CUDA_SUCCESS);
  EXPECT_EQ(before - free_bytes(), 4 * kMiB);
  EXPECT_EQ(CALL(cuMipmappedArrayGetLevel)(&level, mipmap, 3), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuArray3DGetDescriptor_v2)(&seen, level), CUDA_SUCCESS);
  EXPECT_EQ(seen.Width, 128u);
  EXPECT_EQ(seen.Height, 64u);
  EXPECT_EQ(CALL(cuMemcpyHtoA_v2)(level, 0, "level", 6), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuArrayDestroy)(level), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMipmappedArrayGetLevel)(&level, mipmap, 11), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMipmappedArrayDestroy)(mipmap), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMipmappedArrayDestroy)(mipmap), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(DriverArrays, PlanarFormatsHavePlanes) {
  const CUarray frame = create({64, 32, 0, CU_AD_FORMAT_NV12, 3, 0});
  CUarray chroma = nullptr;
  CUDA_ARRAY_DESCRIPTOR seen = {};

  EXPECT_EQ(CALL(cuArrayGetPlane)(&chroma, frame, 1), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuArrayGetDescriptor_v2)(&seen, chroma), CUDA_SUCCESS);
  EXPECT_EQ(seen.Width, 32u);
  EXPECT_EQ(seen.NumChannels, 2u);
  EXPECT_EQ(CALL(cuMemcpyHtoA_v2)(chroma, 0, "uv", 2), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuArrayGetPlane)(&chroma, frame, 2), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverArrays, CanBeLookedAtByTexturesAndSurfaces) {
  CUDA_RESOURCE_DESC resource = {}, seen = {};
  const CUDA_TEXTURE_DESC texture = {};
  CUtexObject object = 0;
  CUsurfObject surface = 0;
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = create({64, 32, 0, CU_AD_FORMAT_FLOAT, 1, 0});

  EXPECT_EQ(CALL(cuTexObjectCreate)(&object, &resource, &texture, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuTexObjectGetResourceDesc)(&seen, object), CUDA_SUCCESS);
  EXPECT_EQ(seen.res.array.hArray, resource.res.array.hArray);
  EXPECT_EQ(CALL(cuSurfObjectCreate)(&surface, &resource), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuSurfObjectDestroy)(surface), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuTexObjectDestroy)(object), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuTexObjectDestroy)(object), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace vramscope::simulator
