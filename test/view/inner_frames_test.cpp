// Which frames rows leave out because nobody starts reading there.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/inner_frames.h"

#include <gtest/gtest.h>

#include "reporter/view/analysis/stacks/stack_front.h"
#include "test/view/made_stacks.h"

namespace vramscope {
namespace {

Caller of_package(const std::string& function, const std::string& file) {
  return caller(function, "/e/lib/python3.12/site-packages/" + file + ":7");
}

Caller nameless(const std::string& library, int offset) {
  const std::string at = library.substr(library.rfind('/') + 1) + "+" + std::to_string(offset);
  Caller made = caller(at, "", at);
  made.module = library;
  return made;
}

Caller exported(const std::string& function, const std::string& library) {
  Caller made = caller(function, "", library.substr(library.rfind('/') + 1) + "+0x1");
  made.module = library;
  return made;
}

constexpr const char* kBlas = "/e/lib/python3.12/site-packages/nvidia/cu13/lib/libcublas.so.13";
constexpr const char* kTorch = "/e/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so";
constexpr const char* kTorchCpu = "/e/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so";

TEST(InnerFrames, AreKnownByPackageAndFile) {
  for (const auto& [function, file] : std::vector<std::pair<std::string, std::string>>{
           {"Module._call_impl", "torch/nn/modules/module.py"},
           {"Module._apply", "torch/nn/modules/module.py"},
           {"Module.cuda.<locals>.<lambda>", "torch/nn/modules/module.py"},
           {"context_decorator.<locals>.decorate_context", "torch/utils/_contextlib.py"},
           {"_engine_run_backward", "torch/autograd/graph.py"},
           {"Optimizer.profile_hook_step.<locals>.wrapper", "torch/optim/optimizer.py"},
           {"annotate_function.<locals>.wrapper", "jax/_src/profiler.py"},
           {"batched_device_put", "jax/_src/interpreters/pxla.py"},
           {"make_c_api_client", "jaxlib/xla_client.py"},
           {"_ndarray_base.__init__", "cupy/_core/core.pyx"},
           {"cached.<locals>.wrapper", "some/package.py"}}) {
    EXPECT_TRUE(is_inner(of_package(function, file))) << function << " " << file;
  }
  EXPECT_TRUE(is_inner(
      caller("ContextDecorator.__call__.<locals>.inner", "/usr/lib/python3.12/contextlib.py:81")));
  EXPECT_TRUE(is_inner(caller("_run_code", "<frozen runpy>:88")));
}

// Folders of the user's own with the same names, and what people call.
TEST(InnerFrames, OthersAreNot) {
  EXPECT_FALSE(is_inner(caller("Module._call_impl", "/src/torch/nn/modules/module.py:9")));
  EXPECT_FALSE(is_inner(caller("put", "/src/jax/_src/model.py:9")));
  EXPECT_FALSE(is_inner(caller("timed.<locals>.wrapper", "/src/train.py:9")));
  EXPECT_FALSE(is_inner(caller("c10_load", "/src/c10.cpp:9")));
  EXPECT_FALSE(is_inner(of_package("Module.cuda", "torch/nn/modules/module.py")));
  EXPECT_FALSE(is_inner(of_package("Linear.forward", "torch/nn/modules/linear.py")));
  EXPECT_FALSE(is_inner(of_package("empty", "cupy/_creation/basic.py")));
}

TEST(InnerFrames, OfNativeCodeAreKnownByNamespace) {
  for (const char* function :
       {"c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
        "at::detail::empty_generic(c10::ArrayRef<long>)", "at::_ops::mm::call(at::Tensor)"}) {
    EXPECT_TRUE(is_inner(exported(function, kTorch))) << function;
  }
  EXPECT_FALSE(is_inner(exported("at::native::sum(at::Tensor)", kTorch)));
  EXPECT_TRUE(is_inner(nameless("/e/torch/lib/libc10_cuda.so", 12)));
}

TEST(InnerFrames, RowsLeaveThemOut) {
  const CallSite site =
      stack({of_package("Linear.forward", "torch/nn/modules/linear.py"),
             of_package("Module._call_impl", "torch/nn/modules/module.py"),
             of_package("Module._wrapped_call_impl", "torch/nn/modules/module.py"),
             caller("GPT.forward", "/src/gpt.py:37"),
             of_package("Module._call_impl", "torch/nn/modules/module.py"),
             caller("main", "/src/gpt.py:52")});

  EXPECT_EQ(told({site}, 100)[0],
            "Linear.forward (linear.py:7) < GPT.forward (gpt.py:37) < main (gpt.py:52)");
  const CallSite nothing_else =
      stack({of_package("a", "jax/_src/a.py"), of_package("b", "jaxlib/b.py")});
  EXPECT_EQ(told({nothing_else}, 100)[0], "a (a.py:7) < b (b.py:7)");
}

// jax.numpy.eye is jax/_src/numpy/lax_numpy.py's.
TEST(InnerFrames, ThePublicFunctionThatTheProgramCalledStays) {
  const auto jax = [](const std::string& function, const std::string& file) {
    return of_package(function, "jax/_src/" + file);
  };
  const Caller put = jax("batched_device_put", "interpreters/pxla.py");
  const Caller bound = jax("asarray", "lax/lax.py");
  const Caller wrapper = jax("api_boundary.<locals>.reraise", "traceback_util.py");
  const Caller main = caller("main", "/src/j.py:5");

  EXPECT_EQ(told({stack({put, bound, jax("_eye", "numpy/lax_numpy.py"),
                         jax("eye", "numpy/lax_numpy.py"), main})},
                 100)[0],
            "eye (lax_numpy.py:7) < main (j.py:5)");
  EXPECT_EQ(told({stack({put, jax("normal", "random.py"), wrapper, main})}, 100)[0],
            "normal (random.py:7) < main (j.py:5)");
  // A compiled function of the program, and JAX's own way to call it.
  EXPECT_EQ(told({stack({put, bound, jax("_run_python_pjit", "pjit.py"),
                         jax("_cpp_pjit.<locals>.cache_miss", "pjit.py"), wrapper, main})},
                 100)[0],
            "main (j.py:5)");
  // Called by another package; by native code nobody knows what was called.
  EXPECT_EQ(told({stack({put, jax("zeros", "numpy/lax_numpy.py"),
                         of_package("Dense.__call__", "flax/linen/linear.py"), main})},
                 100)[0],
            "zeros (lax_numpy.py:7) < Dense.__call__ (linear.py:7) < main (j.py:5)");
  EXPECT_EQ(told({stack({put, bound, exported("call", "/e/libx.so"), main})}, 100)[0],
            "call < main (j.py:5)");
  // The program's own folder of that name is no package.
  EXPECT_EQ(told({stack({caller("_put", "/src/jax/_src/a.py:9"), main})}, 100)[0],
            "_put (a.py:9) < main (j.py:5)");
}

TEST(InnerFrames, TellRowsApartThatReadAlike) {
  const Caller main = caller("main", "/src/j.py:5");
  const auto texts = told({stack({of_package("_put", "jax/_src/a.py"), main}),
                           stack({of_package("_compile", "jax/_src/b.py"), main})},
                          100);

  EXPECT_EQ(texts[0], "main (j.py:5) via _put (a.py:7)");
  EXPECT_EQ(texts[1], "main (j.py:5) via _compile (b.py:7)");
}

TEST(NamelessFrames, AreNamedByTheExportedFunctionThatCallsThem) {
  const CallSite site = stack({nameless(kBlas, 1), nameless(kBlas, 2),
                               exported("cublasCreate_v2", kBlas), caller("main", "/src/b.cpp:5")});

  EXPECT_EQ(told({site}, 100)[0], "cublasCreate_v2 < main (b.cpp:5)");
}

TEST(NamelessFrames, OfARunEachLibraryShowsWhereItWasEntered) {
  std::vector<Caller> callers;
  for (int i = 1; i < 7; ++i) callers.push_back(nameless(kBlas, i));
  for (int i = 1; i < 5; ++i) callers.push_back(nameless(kTorch, i));
  for (int i = 1; i < 9; ++i) callers.push_back(nameless(kTorchCpu, i));
  callers.push_back(nameless(kTorch, 10));

  EXPECT_EQ(told({stack(callers)}, 200)[0],
            "libcublas.so.13+6 < libtorch_cuda.so+4 < libtorch_cpu.so+8");
  callers.resize(3);
  EXPECT_EQ(told({stack(callers)}, 200)[0],
            "libcublas.so.13+1 < libcublas.so.13+2 < libcublas.so.13+3");
}

TEST(NamelessFrames, OfTheProgramItselfStay) {
  std::vector<Caller> callers;
  for (int i = 1; i < 6; ++i) callers.push_back(nameless("/bin/train", i));

  EXPECT_EQ(told({stack(callers)}, 200)[0], "train+1 < train+2 < train+3 < train+4 < train+5");
}

}  // namespace
}  // namespace vramscope
