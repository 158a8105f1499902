// Asks cuDNN for a plan of a graph of operations and executes it, as PyTorch does.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

extern "C" {
int cudnnCreate(void** handle);
int cudnnDestroy(void* handle);
int cudnnBackendCreateDescriptor(int kind, void** made);
int cudnnBackendDestroyDescriptor(void* made);
int cudnnBackendFinalize(void* made);
int cudnnBackendSetAttribute(void* made, int name, int type, std::int64_t count,
                             const void* values);
int cudnnBackendGetAttribute(const void* made, int name, int type, std::int64_t asked,
                             std::int64_t* count, void* values);
int cudnnBackendExecute(void* handle, void* plan, void* pack);
int cudnnGetMultiHeadAttnBuffers(void* handle, ...);
}

// Attributes and their types, as programs pass them.
constexpr int kNumber = 3;
constexpr int kDescriptor = 15;
constexpr int kGraphOf = 201;
constexpr int kResults = 202;
constexpr int kEngine = 300;
constexpr int kNotes = 305;
constexpr int kConfiguration = 401;
constexpr int kWorkspace = 402;
constexpr int kOperations = 801;
constexpr int kDimensions = 902;

// Their kinds.
constexpr int kGraph = 15;
constexpr int kProduct = 19;

static void say(const char* call, int status) { std::printf("%s: %d\n", call, status); }

static void* descriptor(int kind = 0) {
  void* made = nullptr;
  say("descriptor", cudnnBackendCreateDescriptor(kind, &made));
  return made;
}

// The workspace of a plan for a graph of so many products of matrices.
static void plan_products(int products) {
  void* made[] = {descriptor(kProduct), descriptor(kProduct), descriptor(kGraph),
                  descriptor(),         descriptor(),         descriptor()};
  void*& graph = made[2];
  void*& heuristic = made[3];
  void*& configuration = made[4];
  void*& plan = made[5];
  say("set", cudnnBackendSetAttribute(graph, kOperations, kDescriptor, products, made));
  say("set", cudnnBackendSetAttribute(heuristic, kGraphOf, kDescriptor, 1, &graph));
  std::int64_t count = 0;
  say("results",
      cudnnBackendGetAttribute(heuristic, kResults, kDescriptor, 1, &count, &configuration));
  say("set", cudnnBackendSetAttribute(plan, kConfiguration, kDescriptor, 1, &configuration));
  std::int64_t workspace = 1;
  say("size", cudnnBackendGetAttribute(plan, kWorkspace, kNumber, 1, &count, &workspace));
  std::printf("workspace of %d: %d\n", products, static_cast<int>(workspace));
  for (void* one : made) cudnnBackendDestroyDescriptor(one);
}

int main() {
  void* handle = nullptr;
  say("handle", cudnnCreate(&handle));
  void* tensor = descriptor();
  const std::int64_t sizes[3] = {2, 3, 5};
  std::int64_t kept[8] = {};
  std::int64_t count = 0;
  say("set", cudnnBackendSetAttribute(tensor, kDimensions, kNumber, 3, sizes));
  say("get", cudnnBackendGetAttribute(tensor, kDimensions, kNumber, 8, &count, kept));
  std::printf("%d dimensions, the last %d\n", static_cast<int>(count), static_cast<int>(kept[2]));

  void* heuristic = descriptor();
  void* configuration = descriptor();
  void* plan = descriptor();
  say("ready", cudnnBackendFinalize(heuristic));
  say("results",
      cudnnBackendGetAttribute(heuristic, kResults, kDescriptor, 1, &count, &configuration));
  std::printf("configurations: %d\n", static_cast<int>(count));
  say("engine", cudnnBackendGetAttribute(configuration, kEngine, kDescriptor, 1, &count, &tensor));
  say("notes", cudnnBackendGetAttribute(tensor, kNotes, 11, 9, &count, nullptr));
  std::printf("notes: %d\n", static_cast<int>(count));
  say("set", cudnnBackendSetAttribute(plan, kConfiguration, kDescriptor, 1, &configuration));
  std::int64_t workspace = 1;
  say("size", cudnnBackendGetAttribute(plan, kWorkspace, kNumber, 1, &count, &workspace));
  std::printf("workspace: %d\n", static_cast<int>(workspace));
  say("executed", cudnnBackendExecute(handle, plan, nullptr));
  plan_products(1);
  plan_products(2);
  std::size_t bytes = 0;
  say("not modelled", cudnnGetMultiHeadAttnBuffers(handle, nullptr, &bytes));
  for (void* made : {tensor, heuristic, configuration, plan}) cudnnBackendDestroyDescriptor(made);
  say("end", cudnnDestroy(handle));
}
