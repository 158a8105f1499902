// Runs Python scripts in a program that loads the interpreter itself, after it started CUDA, and
// ends and starts it again. Argument: path of libpython.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <thread>

#include "test/programs/driver.h"

namespace {

void* library = nullptr;

template <class Function>
Function find(const char* name) {
  void* const function = dlsym(library, name);
  if (function == nullptr) std::printf("%s is missing\n", name);
  return reinterpret_cast<Function>(function);
}

// Of CPython's headers, which need not be here.
struct Method {
  const char* name;
  void* (*function)(void* self, void* arguments);
  int flags;
  const char* documentation;
};
constexpr int kNoArguments = 4;  // METH_NOARGS

void* build(const char* format) { return find<void* (*)(const char*)>("Py_BuildValue")(format); }

void* allocate_for_python(void*, void*) {
  allocate(1024);
  return build("");
}
void* allocate_unlocked(void*, void*) {
  void* const state = find<void* (*)()>("PyEval_SaveThread")();
  allocate(2048);
  find<void (*)(void*)>("PyEval_RestoreThread")(state);
  return build("");
}
Method methods[] = {{"allocate", allocate_for_python, kNoArguments, nullptr},
                    {"unlocked", allocate_unlocked, kNoArguments, nullptr}};

constexpr const char* kScript =
    "def inner():\n"
    "    allocate()\n"
    "    unlocked()\n"
    "def outer():\n"
    "    for _ in [1]:\n"
    "        inner()\n"
    "class Last:\n"
    "    def __del__(self, unlocked=unlocked):\n"
    "        unlocked()\n"
    "last = Last()\n"
    "outer()\n";

void run(const char* script) {
  void* const main_module = find<void* (*)(const char*)>("PyImport_AddModule")("__main__");
  for (Method& method : methods) {
    void* const function =
        find<void* (*)(Method*, void*, void*)>("PyCFunction_NewEx")(&method, nullptr, nullptr);
    find<int (*)(void*, const char*, void*)>("PyObject_SetAttrString")(main_module, method.name,
                                                                       function);
  }
  std::printf("script: %d\n", find<int (*)(const char*)>("PyRun_SimpleString")(script));
}

void in_other_thread(CUcontext context) {
  MUST(cuCtxSetCurrent(context));
  allocate(4096);
  const int state = find<int (*)()>("PyGILState_Ensure")();
  find<int (*)(const char*)>("PyRun_SimpleString")("outer()\n");
  find<void (*)(int)>("PyGILState_Release")(state);
  allocate(8192);
}

}  // namespace

int main(int count, char** arguments) {
  const CUcontext context = start();
  allocate(512);
  library = dlopen(count > 1 ? arguments[1] : "libpython3.11.so.1.0", RTLD_NOW | RTLD_LOCAL);
  std::printf("loaded: %d\n", library != nullptr);
  if (library == nullptr) return 1;
  for (int turn = 0; turn < 2; ++turn) {
    find<void (*)(int)>("Py_InitializeEx")(0);
    run(kScript);
    void* const state = find<void* (*)()>("PyEval_SaveThread")();
    std::thread(in_other_thread, context).join();
    find<void (*)(void*)>("PyEval_RestoreThread")(state);
    std::printf("ended: %d\n", find<int (*)()>("Py_FinalizeEx")());
  }
  allocate(16384);
}
