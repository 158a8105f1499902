// Multiplies by cuBLAS and cuBLASLt on two handles, as programs that link both do.
// SPDX-License-Identifier: Apache-2.0
// Argument: the path of a copy of cuBLAS to open as well. The declarations are those that matter.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

extern "C" {
int cublasCreate_v2(void** handle);
int cublasDestroy_v2(void* handle);
int cublasSetMathMode(void* handle, int mode);
int cublasGetMathMode(void* handle, int* mode);
int cublasSgemm_v2(void* handle, ...);
int cublasSdot_v2(void* handle, int n, const float* x, int step, const float* y, int step_y,
                  float* product);
int cublasIsamax_v2(void* handle, int n, const float* x, int step, int* place);
int cublasLtMatmulDescCreate(void** made, int compute, int scale);
int cublasLtMatmulDescDestroy(void* made);
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* product, void* a, void* b, void* c, void* d,
                                   void* preference, int asked, void* results, int* given);
int cublasLtMatmul(void* handle, void* product, const void* alpha, const void* a, void* a_layout,
                   const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                   void* d, void* d_layout, const void* algorithm, void* workspace,
                   std::size_t bytes, void* stream);
unsigned long vramscope_simulated_launches();
}

static void say(const char* call, int status) { std::printf("%s: %d\n", call, status); }

static void use_lt(void* handle) {
  void* product = nullptr;
  say("descriptor", cublasLtMatmulDescCreate(&product, 68, 0));
  std::byte results[2][96];  // cublasLtMatmulHeuristicResult_t
  std::memset(results, 0xff, sizeof results);
  int given = 0;
  say("heuristic", cublasLtMatmulAlgoGetHeuristic(handle, product, nullptr, nullptr, nullptr,
                                                  nullptr, nullptr, 2, results, &given));
  std::size_t workspace = 1;
  std::memcpy(&workspace, &results[0][64], sizeof workspace);
  std::printf("algorithms: %d, workspace %zu\n", given, workspace);
  say("product",
      cublasLtMatmul(handle, product, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                     nullptr, nullptr, nullptr, nullptr, nullptr, 0, nullptr));
  say("descriptor", cublasLtMatmulDescDestroy(product));
}

int main(int count, char** arguments) {
  void* handles[2] = {};
  for (void*& handle : handles) say("handle", cublasCreate_v2(&handle));
  say("no place for a handle", cublasCreate_v2(nullptr));
  int mode = 0;
  say("mode", cublasSetMathMode(handles[0], 3) + cublasGetMathMode(handles[0], &mode));
  std::printf("mode: %d\n", mode);
  say("product", cublasSgemm_v2(handles[1]));
  float dot = 7;
  say("dot", cublasSdot_v2(handles[1], 4, nullptr, 1, nullptr, 1, &dot));
  int place = 7;
  say("largest", cublasIsamax_v2(handles[1], 4, nullptr, 1, &place));
  std::printf("dot: %g, largest: %d\n", static_cast<double>(dot), place);
  use_lt(handles[0]);
  std::printf("kernels: %lu\n", vramscope_simulated_launches());
  if (count > 1) {
    void* copy = dlopen(arguments[1], RTLD_NOW);
    std::printf("%s\n", copy == nullptr ? dlerror() : "the copy is open");
    const bool same = copy != nullptr &&
                      dlsym(copy, "cublasCreate_v2") == reinterpret_cast<void*>(&cublasCreate_v2);
    std::printf("%s\n", same ? "it is the same" : "it is another");
  }
  for (void* handle : handles) say("end", cublasDestroy_v2(handle));
}
