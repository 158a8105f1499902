// The table of well-known libraries.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/owners.h"

#include <algorithm>
#include <iterator>

namespace vramscope {

namespace {

// A beginning of the file's name, or with a slash a part of its path. The first that fits counts.
struct Family {
  std::string_view mark;
  std::string_view name;
};
constexpr Family kFamilies[] = {
    // Libraries of NVIDIA: they lie in folders of frameworks too, so they come first.
    {"libnccl", "NCCL"},
    {"libcublas", "cuBLAS"},
    {"libcudnn", "cuDNN"},
    {"libcufft", "cuFFT"},
    {"libcurand", "cuRAND"},
    {"libcusolver", "cuSOLVER"},
    {"libcusparse", "cuSPARSE"},
    {"libcutensor", "cuTENSOR"},
    {"libcutlass", "CUTLASS"},
    {"libcufile", "cuFile"},
    {"libcupti", "CUPTI"},
    {"libnvrtc", "NVRTC"},
    {"libnvJitLink", "nvJitLink"},
    {"libnvjpeg", "nvJPEG"},
    {"libnvinfer", "TensorRT"},
    {"libnvonnxparser", "TensorRT"},
    {"libnvcuvid", "NVDEC"},
    {"libnvshmem", "NVSHMEM"},
    {"libnpp", "NPP"},
    // Communication.
    {"libmpi", "MPI"},
    {"libopen-pal", "MPI"},
    {"libmca_", "MPI"},
    {"mca_", "MPI"},
    {"libucp", "UCX"},
    {"libuct", "UCX"},
    {"libucs", "UCX"},
    {"libucm", "UCX"},
    {"libgloo", "Gloo"},
    // Frameworks.
    {"libtriton", "Triton"},
    {"/triton/", "Triton"},
    {"/.triton/", "Triton"},
    {"__triton_launcher", "Triton"},
    {"libtorch", "PyTorch"},
    {"libc10", "PyTorch"},
    {"/torch/", "PyTorch"},
    {"/jaxlib/", "JAX"},
    {"/jax_cuda", "JAX"},
    {"xla_extension", "JAX"},
    {"libtensorflow", "TensorFlow"},
    {"/tensorflow/", "TensorFlow"},
    {"/cupy", "CuPy"},
    {"/numba", "Numba"},
    {"librmm", "RAPIDS"},
    {"libcudf", "RAPIDS"},
    {"libcuml", "RAPIDS"},
    {"libraft", "RAPIDS"},
    {"libonnxruntime", "ONNX Runtime"},
    {"libggml", "ggml"},
    {"libllama", "ggml"},
    {"libavcodec", "FFmpeg"},
    {"libavutil", "FFmpeg"},
    {"libavfilter", "FFmpeg"},
    {"libopencv_", "OpenCV"},
    {"libmagma", "MAGMA"},
    {"libarrayfire", "ArrayFire"},
    {"libaf", "ArrayFire"},
    {"libpython", "Python"},
    {"python", "Python"},
    {"/lib-dynload/", "Python"},
};

constexpr std::string_view kCuda[] = {"libcuda.so", "libcudart.so", "libcudart-", "libvramscope.so",
                                      "libnvidia-"};

// They call for somebody else.
constexpr std::string_view kPassingOn[] = {"libc.so",      "libc-",       "libpthread",
                                           "libstdc++.so", "libgcc_s.so", "libffi.so",
                                           "_ctypes.",     "ld-linux",    "linux-vdso"};

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

template <std::size_t N>
bool begins_with_one_of(std::string_view file, const std::string_view (&names)[N]) noexcept {
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return file.starts_with(name); });
}

bool fits(const Family& family, std::string_view path) {
  if (family.mark.find('/') != std::string_view::npos) {
    return path.find(family.mark) != std::string_view::npos;
  }
  return file_of(path).starts_with(family.mark);
}

}  // namespace

bool is_cuda_library(std::string_view path) noexcept {
  return begins_with_one_of(file_of(path), kCuda);
}

bool only_passes_on(std::string_view path) noexcept {
  return path.empty() || is_cuda_library(path) || begins_with_one_of(file_of(path), kPassingOn);
}

std::string owner_of(std::string_view path, bool is_program) {
  // A program in a folder of some name is not the framework of that name; an interpreter is.
  const std::string_view known = is_program ? file_of(path) : path;
  for (const Family& family : kFamilies) {
    if (fits(family, known)) return std::string(family.name);
  }
  if (is_program) return std::string(kProgramOwner);
  const std::string_view file = file_of(path);
  const std::size_t end = file.find(".so");
  return std::string(end == std::string_view::npos ? file : file.substr(0, end + 3));
}

}  // namespace vramscope
