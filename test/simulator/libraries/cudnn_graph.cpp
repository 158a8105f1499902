// cuDNN's descriptors of graphs: each keeps the attributes that it was given. A graph of operations
// has one engine, which needs a workspace only for attention. Executing a plan does nothing.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "test/simulator/libraries/stand_in.h"

namespace vramscope::simulator {
namespace {

// cudnnStatus_t
constexpr int kNullPointer = 2002;
constexpr int kInternalError = 4000;
constexpr int kBadParameter = 2000;

// cudnnBackendAttributeType_t and cudnnBackendAttributeName_t
constexpr int kDescriptorType = 15;
constexpr int kHeuristicGraph = 201;
constexpr int kHeuristicResults = 202;
constexpr int kConfigEngine = 300;
constexpr int kPlanWorkspace = 402;
constexpr int kGraphOperations = 801;

// cudnnBackendDescriptorType_t
constexpr int kGraph = 15;
constexpr int kMatrixProduct = 19;
constexpr int kAttentionForward = 41;
constexpr int kAttentionBackward = 43;

// An H200, cuDNN under PyTorch 2.11, forward and backward. What the operations themselves keep
// for the backward pass is memory of the program.
constexpr std::int64_t kAttentionWorkspace = 256;  // bytes

struct Descriptor {
  struct Value {
    int type = 0;
    std::int64_t count = 0;
    std::vector<std::byte> bytes;
  };
  int kind = 0;
  std::map<int, Value> values;
  std::map<int, std::vector<Descriptor>>
      parts;  // descriptors are kept as they are when they are given
};

// Two products of matrices in one graph, or one operation of that name.
bool is_attention(const Descriptor& graph) {
  const auto operations = graph.parts.find(kGraphOperations);
  if (graph.kind != kGraph || operations == graph.parts.end()) return false;
  int products = 0;
  for (const Descriptor& one : operations->second) {
    if (one.kind == kAttentionForward || one.kind == kAttentionBackward) return true;
    products += one.kind == kMatrixProduct ? 1 : 0;
  }
  return products > 1;
}

// In the descriptor or in one of which it was made.
bool has_attention(const Descriptor& made) {
  if (is_attention(made)) return true;
  return std::any_of(made.parts.begin(), made.parts.end(), [](const auto& named) {
    return std::any_of(named.second.begin(), named.second.end(), has_attention);
  });
}

// The one configuration that the heuristics propose, or its engine: it is of their graph.
Descriptor proposal_of(const Descriptor& asked) {
  Descriptor proposed;
  const auto graph = asked.parts.find(kHeuristicGraph);
  if (graph != asked.parts.end()) proposed.parts.insert(*graph);
  return proposed;
}

// How long one value of a type is; enumerations are as int.
std::size_t bytes_of(int type) {
  switch (type) {
    case 0:   // a handle
    case 3:   // 64 bits
    case 5:   // double
    case 6:   // a pointer
    case 26:  // a fraction of two 32-bit numbers, at least
      return type == 26 ? 16 : 8;
    case 2:   // a truth value
    case 24:  // a character
      return 1;
    default:
      return 4;
  }
}

// Into descriptors that the caller made.
int answer_parts(const std::vector<Descriptor>& parts, std::int64_t asked, std::int64_t* count,
                 void* into) {
  if (count != nullptr) *count = static_cast<std::int64_t>(parts.size());
  auto* const* const made = static_cast<Descriptor**>(into);
  const auto given = std::min<std::int64_t>(asked, static_cast<std::int64_t>(parts.size()));
  for (std::int64_t i = 0; into != nullptr && i < given; ++i) {
    if (made[i] != nullptr) *made[i] = parts[static_cast<std::size_t>(i)];
  }
  return kSuccess;
}

// What nobody gave: one value is zero, and of a list there are none.
int answer_default(int type, std::int64_t asked, std::int64_t* count, void* into) {
  const bool is_one = asked == 1;
  if (count != nullptr) *count = is_one ? 1 : 0;
  if (is_one && into != nullptr) std::memset(into, 0, bytes_of(type));
  return kSuccess;
}

}  // namespace
}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int cudnnBackendCreateDescriptor(int kind, Descriptor** made) {
  if (made == nullptr) return kNullPointer;
  *made = new (std::nothrow) Descriptor;
  if (*made == nullptr) return kInternalError;
  (*made)->kind = kind;
  return kSuccess;
}

int cudnnBackendDestroyDescriptor(Descriptor* made) {
  delete made;
  return kSuccess;
}

int cudnnBackendSetAttribute(Descriptor* descriptor, int name, int type, std::int64_t count,
                             const void* values) {
  if (descriptor == nullptr || (values == nullptr && count > 0)) return kNullPointer;
  if (count < 0) return kBadParameter;
  if (type == kDescriptorType) {
    std::vector<Descriptor> parts;
    const auto* const* const given = static_cast<const Descriptor* const*>(values);
    for (std::int64_t i = 0; i < count; ++i)
      parts.push_back(given[i] == nullptr ? Descriptor{} : *given[i]);
    descriptor->parts[name] = std::move(parts);
    return kSuccess;
  }
  const auto* const from = static_cast<const std::byte*>(values);
  descriptor->values[name] = {
      type, count, {from, from + static_cast<std::size_t>(count) * bytes_of(type)}};
  return kSuccess;
}

int cudnnBackendGetAttribute(const Descriptor* descriptor, int name, int type, std::int64_t asked,
                             std::int64_t* count, void* into) {
  if (descriptor == nullptr) return kNullPointer;
  if (type == kDescriptorType) {
    const auto parts = descriptor->parts.find(name);
    if (parts != descriptor->parts.end()) return answer_parts(parts->second, asked, count, into);
    const bool is_one = name == kHeuristicResults || name == kConfigEngine;
    return answer_parts(std::vector<Descriptor>(is_one ? 1 : 0, proposal_of(*descriptor)), asked,
                        count, into);
  }
  const auto kept = descriptor->values.find(name);
  if (kept == descriptor->values.end()) {
    const int status = answer_default(type, asked, count, into);
    const bool is_size = name == kPlanWorkspace && asked == 1 && into != nullptr;
    if (is_size && has_attention(*descriptor)) {
      std::memcpy(into, &kAttentionWorkspace, sizeof kAttentionWorkspace);
    }
    return status;
  }
  if (count != nullptr) *count = kept->second.count;
  const auto given =
      static_cast<std::size_t>(std::clamp<std::int64_t>(asked, 0, kept->second.count));
  if (into != nullptr && given != 0)
    std::memcpy(into, kept->second.bytes.data(), given * bytes_of(kept->second.type));
  return kSuccess;
}

int cudnnBackendFinalize(const Descriptor* descriptor) {
  return descriptor == nullptr ? kNullPointer : kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
