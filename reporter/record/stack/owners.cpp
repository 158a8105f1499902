// The table of well-known libraries.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/owners.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace vramscope {

namespace {

using By = OwnerRule::By;

// The first rule that fits counts.
constexpr OwnerRule kRules[] = {
    // NVIDIA's libraries come first, since they also lie in folders of frameworks.
    {By::library, "libnccl", "NCCL"},
    {By::library, "libcublas", "cuBLAS"},
    {By::library, "libcublasLt", "cuBLAS"},
    {By::family, "libcudnn", "cuDNN"},
    {By::family, "libcufft", "cuFFT"},
    {By::library, "libcufftw", "cuFFT"},
    {By::library, "libcurand", "cuRAND"},
    {By::family, "libcusolver", "cuSOLVER"},
    {By::family, "libcusparse", "cuSPARSE"},
    {By::family, "libcutensor", "cuTENSOR"},
    {By::family, "libcutlass", "CUTLASS"},
    {By::family, "libcufile", "cuFile"},
    {By::library, "libcupti", "CUPTI"},
    {By::family, "libnvrtc", "NVRTC"},
    {By::library, "libnvJitLink", "nvJitLink"},
    {By::library, "libnvjpeg", "nvJPEG"},
    {By::library, "libnvjpeg2k", "nvJPEG"},
    {By::family, "libnvinfer", "TensorRT"},
    {By::library, "libnvonnxparser", "TensorRT"},
    {By::library, "libnvcuvid", "NVDEC"},
    {By::family, "libnvshmem", "NVSHMEM"},
    {By::prefix, "libnppi", "NPP"},
    {By::library, "libnppc", "NPP"},
    {By::library, "libnpps", "NPP"},
    // Communication.
    {By::library, "libmpi", "MPI"},
    {By::prefix, "libmpi_", "MPI"},
    {By::prefix, "libmpich", "MPI"},
    {By::family, "libopen-pal", "MPI"},
    {By::family, "libopen-rte", "MPI"},
    {By::prefix, "libmca_", "MPI"},
    {By::prefix, "mca_", "MPI"},
    {By::family, "libucp", "UCX"},
    {By::family, "libuct", "UCX"},
    {By::family, "libucs", "UCX"},
    {By::family, "libucm", "UCX"},
    {By::family, "libgloo", "Gloo"},
    // Frameworks.
    {By::library, "libtriton", "Triton"},
    {By::library, "__triton_launcher", "Triton"},
    {By::package, "triton", "Triton"},
    {By::library, "libtorch", "PyTorch"},
    {By::prefix, "libtorch_", "PyTorch"},
    {By::library, "libc10", "PyTorch"},
    {By::prefix, "libc10_", "PyTorch"},
    {By::package, "torch", "PyTorch"},
    {By::package, "torchvision", "PyTorch"},
    {By::package, "torchaudio", "PyTorch"},
    {By::package, "jax", "JAX"},
    {By::package, "jaxlib", "JAX"},
    {By::package, "jax_plugins", "JAX"},
    {By::package, "jax_cuda12_plugin", "JAX"},
    {By::package, "jax_cuda13_plugin", "JAX"},
    {By::library, "xla_extension", "JAX"},
    {By::library, "xla_cuda_plugin", "JAX"},
    {By::family, "libtensorflow", "TensorFlow"},
    {By::package, "tensorflow", "TensorFlow"},
    {By::package, "cupy", "CuPy"},
    {By::package, "cupyx", "CuPy"},
    {By::package, "cupy_backends", "CuPy"},
    {By::package, "numba", "Numba"},
    {By::package, "numba_cuda", "Numba"},
    {By::library, "librmm", "RAPIDS"},
    {By::library, "libcudf", "RAPIDS"},
    {By::family, "libcuml", "RAPIDS"},
    {By::library, "libraft", "RAPIDS"},
    {By::package, "rmm", "RAPIDS"},
    {By::package, "cudf", "RAPIDS"},
    {By::package, "cuml", "RAPIDS"},
    {By::package, "pylibraft", "RAPIDS"},
    {By::family, "libonnxruntime", "ONNX Runtime"},
    {By::package, "onnxruntime", "ONNX Runtime"},
    {By::library, "libggml", "ggml"},
    {By::library, "libllama", "ggml"},
    {By::package, "llama_cpp", "ggml"},
    {By::library, "libavcodec", "FFmpeg"},
    {By::library, "libavutil", "FFmpeg"},
    {By::library, "libavfilter", "FFmpeg"},
    {By::prefix, "libopencv_", "OpenCV"},
    {By::package, "cv2", "OpenCV"},
    {By::family, "libmagma", "MAGMA"},
    {By::library, "libarrayfire", "ArrayFire"},
    {By::library, "libaf", "ArrayFire"},
    {By::library, "libafcuda", "ArrayFire"},
};

constexpr std::string_view kCuda[] = {"libcuda.so", "libcudart.so", "libcudart-", "libvramscope.so",
                                      "libnvidia-"};

// Objects that call for others.
constexpr std::string_view kPassingOn[] = {"libc.so",      "libc-",       "libpthread",
                                           "libstdc++.so", "libgcc_s.so", "libffi.so",
                                           "_ctypes.",     "ld-linux",    "linux-vdso"};

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

template <std::size_t N>
bool begins_with_one_of(std::string_view file, const std::string_view (&names)[N]) noexcept {
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view name) { return file.starts_with(name); });
}

// Returns "libcublas" for libcublas.so.13, "_C" for _C.cpython-312-x86_64-linux-gnu.so.
std::string_view library_of(std::string_view file) {
  return file.substr(0, file.find_first_of(".-"));
}

// Returns the package of an object in a folder for Python's packages: the package's folder, the
// folder of the libraries that a wheel carries ("numpy.libs"), or a module that is a single file.
std::string_view package_of(std::string_view path) {
  std::string_view inside;
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t found = path.rfind(folder);
    if (found != path.npos) inside = path.substr(found + folder.size());
  }
  const std::string_view first = inside.substr(0, inside.find('/'));
  return first.substr(0, first.find('.'));
}

// Returns whether the file is Python's interpreter or library, or one of Python's own modules:
// /usr/bin/python3.12, libpython3.12.so.
bool is_interpreter(std::string_view path) {
  constexpr std::string_view kModules = "/lib-dynload/";
  const std::string_view file = file_of(path);
  if (file.starts_with("libpython")) return true;
  if (file.starts_with("python")) {
    return file.find_first_not_of("0123456789.dt", std::string_view("python").size()) == file.npos;
  }
  const std::size_t folder = path.rfind(kModules);
  return folder != path.npos && folder + kModules.size() == path.size() - file.size() &&
         file_of(path.substr(0, folder)).starts_with("python");
}

bool begins_with_letter(std::string_view text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z';
}

bool fits(const OwnerRule& rule, std::string_view file, std::string_view package) {
  switch (rule.by) {
    case By::library:
      return library_of(file) == rule.name;
    case By::family:
      return file.starts_with(rule.name) && !begins_with_letter(file.substr(rule.name.size()));
    case By::prefix:
      return file.starts_with(rule.name);
    case By::package:
      return package == rule.name;
  }
  return false;
}

std::string_view known_owner(std::string_view file, std::string_view package) {
  for (const OwnerRule& rule : kRules) {
    if (fits(rule, file, package)) return rule.owner;
  }
  return {};
}

constexpr std::string_view kBindings = "cuda";  // NVIDIA's package cuda-python

}  // namespace

std::span<const OwnerRule> owner_rules() { return kRules; }

bool is_cuda_library(std::string_view path) noexcept {
  return begins_with_one_of(file_of(path), kCuda);
}

bool only_passes_on(std::string_view path) noexcept {
  return path.empty() || is_cuda_library(path) || begins_with_one_of(file_of(path), kPassingOn) ||
         package_of(path) == kBindings;
}

std::string owner_of(std::string_view path, bool is_program) {
  if (is_interpreter(path)) return std::string(kPythonOwner);
  const std::string_view file = file_of(path);
  // A program that has a framework's name is not that framework.
  if (is_program) return std::string(kProgramOwner);
  const std::string_view package = package_of(path);
  const std::string_view known = known_owner(file, package);
  if (!known.empty()) return std::string(known);
  if (!package.empty()) return std::string(package);
  const std::size_t end = file.find(".so");
  return std::string(end == std::string_view::npos ? file : file.substr(0, end + 3));
}

bool StackOwner::add_object(std::string_view path, bool is_program) {
  if (is_certain_ || only_passes_on(path)) return is_certain_;
  std::string owner = owner_of(path, is_program);
  if (owner == kPythonOwner) {  // the Python functions decide which package it is
    is_python_ = true;
    name_ = std::move(owner);
    return false;
  }
  if (!is_python_) name_ = std::move(owner);
  return is_certain_ = true;
}

bool StackOwner::add_python(std::string_view source) {
  const std::string_view package = package_of(source);
  if (is_certain_ || package == kBindings) return is_certain_;
  const std::string_view known = known_owner({}, package);
  name_ = !known.empty() ? known : !package.empty() ? package : kPythonOwner;
  return is_certain_ = true;
}

}  // namespace vramscope
