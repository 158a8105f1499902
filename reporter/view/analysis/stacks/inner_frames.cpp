// Knows the inner layers of frameworks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/inner_frames.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

namespace vramscope {
namespace {

bool starts_with_any(std::string_view text,
                     const std::initializer_list<std::string_view>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

std::string_view library_file(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "torch/nn/modules/module.py:1790" of a file behind site-packages or dist-packages; "" of others.
std::string_view path_in_packages(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.rfind(folder);
    if (at != path.npos) return path.substr(at + folder.size());
  }
  return "";
}

// "contextlib.py:81" of a file of Python's own library; "" of others.
std::string_view path_in_python(std::string_view path) {
  constexpr std::string_view kFolder = "/lib/python";  // "3.12/" behind it
  const std::size_t at = path.rfind(kFolder);
  if (at == path.npos || !path_in_packages(path).empty()) return "";
  const std::size_t end = path.find('/', at + kFolder.size());
  return end == path.npos ? "" : path.substr(end + 1);
}

// "wrapper" of "profile.<locals>.wrapper"; "" of a function that is not within another.
std::string_view name_within(std::string_view function) {
  constexpr std::string_view kLocals = ".<locals>.";
  const std::size_t at = function.rfind(kLocals);
  return at == function.npos ? "" : function.substr(at + kLocals.size());
}

// What decorators call the function that stands for the decorated one.
bool is_decorator(std::string_view function) {
  constexpr std::string_view kNames[] = {"wrapper",
                                         "wrapped",
                                         "wrap",
                                         "inner",
                                         "_wrapper",
                                         "_wrapped",
                                         "decorated",
                                         "decorate_context",
                                         "decorate_autocast",
                                         "decorate_enable_grad",
                                         "decorate_no_grad",
                                         "_fn",
                                         "new_func",
                                         "wrapped_func",
                                         "error_handler",
                                         "op_dispatch_handler"};
  const std::string_view name = name_within(function);
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Calls of a module, and what Module.cuda() and Module.to() do for each parameter.
bool is_call_of_module(std::string_view function) {
  constexpr std::string_view kCalls[] = {"Module._call_impl", "Module._wrapped_call_impl",
                                         "Module._slow_forward", "Module._apply"};
  return std::find(std::begin(kCalls), std::end(kCalls), function) != std::end(kCalls) ||
         !name_within(function).empty();
}

bool is_inner_of_packages(std::string_view path, std::string_view function) {
  if (path.starts_with("torch/nn/modules/module.py")) return is_call_of_module(function);
  if (path.starts_with("torch/optim/optimizer.py")) return !name_within(function).empty();
  return is_decorator(function) || starts_with_any(path, {"torch/_compile.py",
                                                          "torch/_dynamo/",
                                                          "torch/_functorch/",
                                                          "torch/_inductor/",
                                                          "torch/_jit_internal.py",
                                                          "torch/_ops.py",
                                                          "torch/autograd/function.py",
                                                          "torch/autograd/graph.py",
                                                          "torch/distributed/c10d_logger.py",
                                                          "torch/overrides.py",
                                                          "torch/utils/_contextlib.py",
                                                          "torch/utils/_device.py",
                                                          "torch/utils/_python_dispatch.py",
                                                          "torch/utils/hooks.py",
                                                          "jax/_src/",
                                                          "jaxlib/",
                                                          "cupy/_core/",
                                                          "cupy/_util.py",
                                                          "cupy/cuda/",
                                                          "cupy_backends/",
                                                          "keras/src/utils/traceback_utils.py",
                                                          "numba/cuda/cudadrv/",
                                                          "numba_cuda/numba/cuda/cudadrv/",
                                                          "rmm/allocators/",
                                                          "tensorflow/python/eager/execute.py",
                                                          "tensorflow/python/util/",
                                                          "triton/backends/",
                                                          "triton/runtime/",
                                                          "decorator.py",
                                                          "wrapt/"});
}

bool is_inner_python(const Caller& caller) {
  const std::string_view path = caller.path;
  if (path.starts_with("<frozen ")) return true;
  const std::string_view in_packages = path_in_packages(path);
  if (!in_packages.empty()) return is_inner_of_packages(in_packages, caller.function);
  return starts_with_any(path_in_python(path),
                         {"contextlib.py", "functools.py", "threading.py", "runpy.py", "importlib/",
                          "concurrent/futures/thread.py"});
}

// Python's: it lies in no module.
bool is_pythons(const Caller& caller) { return caller.at.empty() && caller.module.empty(); }

bool is_inner_native(const Caller& caller) {
  const std::string_view library = library_file(caller.module);
  if (!has_name(caller)) return starts_with_any(library, {"libc10.so", "libc10_cuda.so"});
  const std::string_view name = caller.function;
  return starts_with_any(
             name,
             {"c10::", "at::detail::", "at::_ops::", "at::empty", "at::native::empty",
              "torch::ADInplaceOrView::", "torch::autograd::Engine::",
              "torch::autograd::Node::operator()", "torch::autograd::VariableType::",
              "torch::autograd::python::PythonEngine::", "rmm::detail::", "rmm::mr::",
              "stream_executor::", "tensorflow::BFCAllocator::", "tsl::BFCAllocator::", "xla::"}) ||
         (name.starts_with("__pyx_") &&
          (name.find("_4cupy_4cuda_") != name.npos || name.find("_4cupy_5_core_") != name.npos));
}

bool is_in_library(const Caller& caller) {
  return library_file(caller.module).find(".so") != std::string_view::npos;
}

std::string_view library_group(const Caller& caller) {
  const std::string_view module = caller.module;
  return path_in_packages(module).empty() ? module : module.substr(0, module.rfind('/'));
}

// All of JAX's own code lies in one package: what jax.numpy and the like only name, too.
bool is_public_of_jax(const Caller& caller) {
  return is_pythons(caller) && path_in_packages(caller.path).starts_with("jax/_src/") &&
         !caller.function.starts_with('_') && caller.function.find('.') == std::string::npos;
}

using FrameSorts = std::span<const FrameSort>;
using FrameIndices = std::vector<std::size_t>;

// Each library once, by the function in which it was entered for what stands before it.
void add_library_entries(FrameSorts frames, const FrameIndices& run, FrameIndices& to) {
  std::set<std::string_view> known;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const std::string_view module = frames[run[i]].module;
    const bool is_entry = i + 1 == run.size() || frames[run[i + 1]].module != module;
    if (is_entry && known.insert(module).second) to.push_back(run[i]);
  }
}

// Whether a frame that is not inner called it, be it through decorators.
bool is_called_from_outside(FrameSorts frames, std::size_t at) {
  do ++at;
  while (at < frames.size() && frames[at].is_inner && frames[at].is_nested);
  return at < frames.size() && !frames[at].is_inner && frames[at].is_python;
}

OuterFrames without_nameless_runs(FrameSorts frames, const FrameIndices& wanted, bool are_all) {
  constexpr std::size_t kMostOffsets = 3;
  OuterFrames outer;
  for (std::size_t i = 0; i < wanted.size();) {
    const FrameSort& first = frames[wanted[i]];
    FrameIndices run;  // of one group
    while (i < wanted.size() && frames[wanted[i]].is_nameless &&
           frames[wanted[i]].group == first.group) {
      run.push_back(wanted[i++]);
    }
    if (run.empty()) {
      outer.kept.push_back(wanted[i++]);
      continue;
    }
    if (i == wanted.size()) outer.is_certain = are_all;
    const bool is_entered_by_name =
        i < wanted.size() && frames[wanted[i]].module == frames[run.back()].module;
    if (is_entered_by_name) continue;
    if (run.size() > kMostOffsets) {
      add_library_entries(frames, run, outer.kept);
    } else {
      outer.kept.insert(outer.kept.end(), run.begin(), run.end());
    }
  }
  return outer;
}

}  // namespace

bool is_inner(const Caller& caller) {
  return is_pythons(caller) ? is_inner_python(caller) : is_inner_native(caller);
}

bool is_own_python(const Caller& caller) {
  const std::string file = without_line(caller.path);
  const bool is_typed = file == "<stdin>" || file.starts_with("<ipython-input");
  return is_pythons(caller) && (is_typed || file.ends_with(".py")) &&
         path_in_packages(file).empty() && path_in_python(file).empty();
}

FrameSort sort_of(const Caller& caller) {
  const bool is_inner_frame = is_inner(caller);
  return {.is_inner = is_inner_frame,
          .is_nameless = !has_name(caller) && is_in_library(caller),
          .is_python = is_pythons(caller),
          .is_public = is_inner_frame && is_public_of_jax(caller),
          .is_nested = is_inner_frame && !name_within(caller.function).empty(),
          .module = caller.module,
          .group = library_group(caller)};
}

bool is_folded(FrameSorts frames, std::size_t at) {
  return frames[at].is_inner && !(frames[at].is_public && is_called_from_outside(frames, at));
}

OuterFrames outer_frames(FrameSorts frames, bool are_all) {
  FrameIndices wanted;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!is_folded(frames, i)) wanted.push_back(i);
  }
  const bool are_inner = wanted.empty();
  for (std::size_t i = 0; are_inner && i < frames.size(); ++i) wanted.push_back(i);
  OuterFrames outer = without_nameless_runs(frames, wanted, are_all);
  if (are_inner && !are_all) outer.is_certain = false;
  return outer;
}

OuterFrames outer_frames(const std::vector<Caller>& callers, bool are_all) {
  std::vector<FrameSort> frames;
  frames.reserve(callers.size());
  for (const Caller& caller : callers) frames.push_back(sort_of(caller));
  return outer_frames(frames, are_all);
}

}  // namespace vramscope
