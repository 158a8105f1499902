// The presets, and setting them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/preset.h"

#include <cstdlib>
#include <cstring>

namespace vramscope {
namespace {

struct Variable {
  const char* name;
  const char* value;
};

// The frameworks' own caches give out parts of what they got from CUDA once: without them every
// tensor is an allocation of its own, with its own place in the program.
struct Preset {
  std::string_view name;
  std::vector<Variable> variables;
  std::vector<Variable> settings;  // of ours, unless the user has chosen how memory is served
  const char* note;                // what no variable does; "" nothing
};

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = {
      // PyTorch, docs "CUDA semantics", memory management. Its tensors are of many sizes, of which
      // the default policy keeps whole segments each; pages that grow take less than PyTorch's
      // cache.
      {"pytorch",
       {{"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"}},
       {{"VRAMSCOPE_POLICY", "pytorch"}, {"VRAMSCOPE_ALLOC_CONF", "growing_segments:True"}},
       ""},
      // JAX, docs "GPU memory allocation".
      {"jax",
       {{"XLA_PYTHON_CLIENT_PREALLOCATE", "false"}, {"XLA_PYTHON_CLIENT_ALLOCATOR", "platform"}},
       {},
       ""},
      // CuPy, docs "Memory management": CUPY_GPU_MEMORY_LIMIT limits the pool, nothing ends it.
      {"cupy",
       {},
       {},
       "CuPy has no variable that switches its memory pools off; call "
       "cupy.cuda.set_allocator(None) and cupy.cuda.set_pinned_memory_allocator(None) first"},
  };
  return all;
}

const Preset* find(std::string_view name) {
  for (const Preset& preset : presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

std::string text(const Variable& variable) {
  return std::string(variable.name) + "=" + variable.value;
}

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// Whether the user has said how memory is served, so that no preset does.
bool is_serving_chosen() {
  const char* const mode = std::getenv("VRAMSCOPE_MODE");
  const bool is_cache = mode == nullptr || *mode == '\0' || std::strcmp(mode, "cache") == 0;
  return !is_cache || is_set("VRAMSCOPE_POLICY") || is_set("VRAMSCOPE_ALLOC_CONF");
}

}  // namespace

std::string preset_names() {
  std::string names;
  for (std::size_t i = 0; i < presets().size(); ++i) {
    if (i != 0) names += i + 1 == presets().size() ? " or " : ", ";
    names += presets()[i].name;
  }
  return names;
}

bool is_preset(std::string_view name) { return find(name) != nullptr; }

PresetResult apply_preset(std::string_view name) {
  PresetResult result;
  const Preset* const preset = find(name);
  if (preset == nullptr) return result;
  const std::string subject = "preset " + std::string(name);
  for (const Variable& variable : preset->variables) {
    const char* const present = std::getenv(variable.name);
    if (present == nullptr || std::strcmp(present, variable.value) == 0) continue;
    result.conflict = subject + " sets " + text(variable) + ", but it is set to '" + present +
                      "': unset it, or leave the preset out";
    return result;
  }
  std::string set;
  for (const Variable& variable : preset->variables) {
    if (std::getenv(variable.name) != nullptr) continue;
    setenv(variable.name, variable.value, 1);
    set += " " + text(variable);
  }
  const bool is_chosen = is_serving_chosen();
  for (const Variable& variable : preset->settings) {
    if (is_chosen) break;
    setenv(variable.name, variable.value, 1);
    set += " " + text(variable);
  }
  if (!set.empty()) result.notes.push_back(subject + " sets" + set);
  if (*preset->note != '\0') result.notes.push_back(subject + ": " + preset->note);
  return result;
}

}  // namespace vramscope
