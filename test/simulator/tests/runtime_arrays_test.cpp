// The small runtime's arrays and textures: they take memory, hold bytes, and say what they are.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace {

class RuntimeArrays : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaMallocArray(&array_, &elements_, 4, 2, cudaArraySurfaceLoadStore), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaFreeArray(array_), cudaSuccess);
    (void)cudaGetLastError();
  }
  [[nodiscard]] cudaResourceDesc resource() const {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array_;
    return resource;
  }

  const cudaChannelFormatDesc elements_ = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  cudaArray_t array_ = nullptr;
};

TEST_F(RuntimeArrays, SayWhatTheyAre) {
  cudaChannelFormatDesc elements = {};
  cudaExtent extent = {};
  unsigned flags = 0;

  ASSERT_EQ(cudaArrayGetInfo(&elements, &extent, &flags, array_), cudaSuccess);

  EXPECT_EQ(std::memcmp(&elements, &elements_, sizeof elements), 0);
  EXPECT_EQ(extent.width, 4u);
  EXPECT_EQ(extent.height, 2u);
  EXPECT_EQ(flags, unsigned{cudaArraySurfaceLoadStore});
}

TEST_F(RuntimeArrays, HoldRectangles) {
  const std::array<float, 8> bytes = {0, 1, 2, 3, 4, 5, 6, 7};
  std::array<float, 8> back = {};

  EXPECT_EQ(cudaMemcpy2DToArray(array_, 0, 0, bytes.data(), 16, 16, 2, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaMemcpy2DFromArray(back.data(), 16, array_, 4, 1, 8, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);

  EXPECT_EQ(back[0], 5);
  EXPECT_EQ(back[1], 6);
  EXPECT_EQ(back[2], 0);
  EXPECT_EQ(cudaMemcpy2DToArray(array_, 0, 0, bytes.data(), 16, 16, 3, cudaMemcpyDefault),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeArrays, HoldLinesOfWholeRowsAndPiecesOfOne) {
  const std::array<float, 8> bytes = {0, 1, 2, 3, 4, 5, 6, 7};
  std::array<float, 2> back = {};

  EXPECT_EQ(cudaMemcpyToArray(array_, 0, 0, bytes.data(), 32, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyFromArray(back.data(), array_, 8, 1, 8, cudaMemcpyDeviceToHost), cudaSuccess);

  EXPECT_EQ(back[0], 6);
  EXPECT_EQ(back[1], 7);
}

TEST_F(RuntimeArrays, HoldBoxesThatAreCountedInElements) {
  std::array<float, 12> bytes = {};
  std::array<float, 12> back = {};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<float>(i);
  cudaArray_t box = nullptr;
  ASSERT_EQ(cudaMalloc3DArray(&box, &elements_, {2, 2, 3}, cudaArrayDefault), cudaSuccess);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = {bytes.data(), 8, 8, 2};
  copy.dstArray = box;
  copy.extent = {2, 2, 3};
  copy.kind = cudaMemcpyHostToDevice;

  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  copy = {};
  copy.srcArray = box;
  copy.srcPos = {1, 0, 2};
  copy.dstPtr = {back.data(), 8, 8, 2};
  copy.extent = {1, 2, 1};
  copy.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);

  EXPECT_EQ(back[0], 9);
  EXPECT_EQ(back[2], 11);
  EXPECT_EQ(cudaFreeArray(box), cudaSuccess);
}

TEST_F(RuntimeArrays, TakeMemoryOfTheDevice) {
  std::size_t before = 0, during = 0, total = 0;
  cudaArray_t large = nullptr;
  cudaMemGetInfo(&before, &total);

  ASSERT_EQ(cudaMallocArray(&large, &elements_, 16384, 1024, 0), cudaSuccess);
  cudaMemGetInfo(&during, &total);

  EXPECT_GE(before - during, 64u << 20);
  EXPECT_EQ(cudaFreeArray(large), cudaSuccess);
}

TEST_F(RuntimeArrays, HaveElementsOfOneWidth) {
  cudaArray_t none = nullptr;
  for (const cudaChannelFormatDesc& wrong :
       {cudaChannelFormatDesc{8, 8, 8, 0, cudaChannelFormatKindUnsigned},
        cudaChannelFormatDesc{8, 16, 0, 0, cudaChannelFormatKindUnsigned},
        cudaChannelFormatDesc{0, 8, 0, 0, cudaChannelFormatKindUnsigned},
        cudaChannelFormatDesc{8, 0, 0, 0, cudaChannelFormatKindFloat}}) {
    EXPECT_EQ(cudaMallocArray(&none, &wrong, 4, 4, 0), cudaErrorInvalidChannelDescriptor);
  }
}

TEST_F(RuntimeArrays, HaveLevels) {
  cudaMipmappedArray_t mipmap = nullptr;
  cudaArray_t level = nullptr;
  cudaExtent extent = {};

  ASSERT_EQ(cudaMallocMipmappedArray(&mipmap, &elements_, {8, 8, 0}, 3, 0), cudaSuccess);
  EXPECT_EQ(cudaGetMipmappedArrayLevel(&level, mipmap, 1), cudaSuccess);
  EXPECT_EQ(cudaArrayGetInfo(nullptr, &extent, nullptr, level), cudaSuccess);

  EXPECT_EQ(extent.width, 4u);
  EXPECT_EQ(cudaFreeMipmappedArray(mipmap), cudaSuccess);
}

TEST_F(RuntimeArrays, AreLookedAtByTexturesAndSurfaces) {
  const cudaResourceDesc whole = resource();
  const cudaTextureDesc plain = {};
  cudaTextureObject_t texture = 0;
  cudaSurfaceObject_t surface = 0;

  EXPECT_EQ(cudaCreateTextureObject(&texture, &whole, &plain, nullptr), cudaSuccess);
  EXPECT_EQ(cudaCreateSurfaceObject(&surface, &whole), cudaSuccess);

  EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
  EXPECT_EQ(cudaDestroySurfaceObject(surface), cudaSuccess);
  EXPECT_EQ(cudaDestroyTextureObject(texture), cudaErrorInvalidValue);
}

TEST_F(RuntimeArrays, SoIsLinearMemory) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4096), cudaSuccess);
  cudaResourceDesc linear = {};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear = {memory, elements_, 4096};
  const cudaTextureDesc plain = {};
  cudaTextureObject_t texture = 0;

  EXPECT_EQ(cudaCreateTextureObject(&texture, &linear, &plain, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
  linear.res.linear.sizeInBytes = 1 << 30;
  EXPECT_EQ(cudaCreateTextureObject(&texture, &linear, &plain, nullptr), cudaErrorInvalidValue);

  cudaFree(memory);
}

}  // namespace
