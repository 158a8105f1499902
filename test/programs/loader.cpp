// Opens libraries that use CUDA in every way the loader knows.
// SPDX-License-Identifier: Apache-2.0
// Arguments: late, deep, namespace, second, static, two or pair; then the library, and for `two`
// the name of a shared runtime; for `pair` the names of two. Nothing of CUDA is linked.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

using Use = int(unsigned);

template <class Function>
static Function* find(void* library, const char* name) {
  void* symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) {
    const char* reason = dlerror();
    std::printf("%s: %s\n", name, reason != nullptr ? reason : "no reason");
    std::exit(3);
  }
  return reinterpret_cast<Function*>(symbol);
}

static void use(void* library, const char* what) {
  std::printf("%s: %d\n", what, find<Use>(library, "use_memory")(1 << 20));
}

// Opened, used and closed again and again, also by a thread that ends.
static void open_late(const char* path) {
  for (int i = 0; i < 3; ++i) {
    void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    use(library, "opened late");
    std::thread(use, library, "by a thread").join();
    std::printf("closed: %d\n", dlclose(library));
  }
}

// Two shared runtimes, of different major versions.
static void use_pair(const char* one, const char* other) {
  using Malloc = int(void**, std::size_t);
  using Free = int(void*);
  void* first = dlopen(one, RTLD_NOW | RTLD_LOCAL);
  void* second = dlopen(other, RTLD_NOW | RTLD_LOCAL);
  for (int i = 0; i < 2; ++i, std::swap(first, second)) {
    void* block = nullptr;
    std::printf("one: %d\n", find<Malloc>(first, "cudaMalloc")(&block, 3 << 20));
    std::printf("freed by the other: %d\n", find<Free>(second, "cudaFree")(block));
    std::printf("and again: %d\n", find<Free>(first, "cudaFree")(block));
  }
}

// The memory of one runtime is freed by another.
static void use_two(const char* path, const char* runtime) {
  void* inside = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* shared = dlopen(runtime, RTLD_NOW | RTLD_LOCAL);
  using Malloc = int(void**, std::size_t);
  using Free = int(void*);
  void* block = nullptr;
  std::printf("shared: %d\n", find<Malloc>(shared, "cudaMalloc")(&block, 3 << 20));
  std::printf("freed inside: %d\n", find<Free>(inside, "give_memory")(block));
  std::printf("and again: %d\n", find<Free>(inside, "give_memory")(block));
  block = find<void*(unsigned)>(inside, "take_memory")(5 << 20);
  std::printf("inside: %d\n", block != nullptr);
  std::printf("freed by the shared one: %d\n", find<Free>(shared, "cudaFree")(block));
  use(inside, "inside");
}

// A copy of the driver under another name is another driver: it has not been started.
static void use_second(const char* path) {
  using GetInfo = int(std::size_t*, std::size_t*);
  std::size_t free = 0, total = 0;
  void* second = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  std::printf("second: %d\n", find<GetInfo>(second, "cuMemGetInfo_v2")(&free, &total));
}

// The program itself uses the driver as well, so there is a report.
static void start_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  std::printf("own: %d\n", find<Use>(driver, "cuInit")(0));
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string way = argv[1];
  if (way == "deep" || way == "namespace" || way == "second") start_driver();
  if (way == "second") use_second(argv[2]);
  if (way == "late") open_late(argv[2]);
  if (way == "deep") use(dlopen(argv[2], RTLD_NOW | RTLD_DEEPBIND), "deep");
  if (way == "namespace") use(dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW), "in a namespace");
  if (way == "static") use(dlopen(argv[2], RTLD_NOW | RTLD_LOCAL), "with a runtime inside");
  if (way == "two" && argc > 3) use_two(argv[2], argv[3]);
  if (way == "pair" && argc > 3) use_pair(argv[2], argv[3]);
}
