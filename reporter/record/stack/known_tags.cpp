// Looks a tag up by the caller if that is enough, and otherwise by the stack.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/known_tags.h"

#include "reporter/base/axes.h"
#include "reporter/record/stack/capture.h"
#include "reporter/record/stack/known_callers.h"
#include "reporter/record/stack/known_stacks.h"
#include "reporter/record/stack/module_table.h"
#include "reporter/record/stack/stack_table.h"

namespace vramscope::known_tags {

namespace {

// Returns whether the tag may depend on the caller and on nothing else of the stack.
bool may_need_caller_only(const Origin& origin) {
  return origin.sampling == Sampling::left_out || !captures_frames();
}

// Returns whether the caller's object alone decides the owner.
bool is_owner(const ModuleTable& modules, KnownCallers& callers, std::uintptr_t caller) {
  using IsOwner = KnownCallers::IsOwner;
  const std::uint32_t epoch = modules.epoch();
  const IsOwner known = callers.is_owner(caller, epoch);
  if (known != IsOwner::unasked) return known == IsOwner::yes;
  const bool is_owner = modules.owns(modules.resolve({&caller, 1}));
  callers.note_owner(caller, epoch, is_owner);
  return is_owner;
}

}  // namespace

KnownTag find(const void* recorder, std::uint32_t epoch, const Origin& origin,
              const void* frame) noexcept {
  const auto rest = StackKey::rest(origin, epoch);
  const Door door = door_at(frame);
  if (door.slot == 0) return {};
  if (may_need_caller_only(origin)) {
    const KnownCallers* const callers = KnownCallers::of_thread(recorder);
    const Tag tag = callers != nullptr ? callers->find(door.return_address, rest) : 0;
    if (tag != 0) return {.tag = tag, .is_by_caller = true};
  }
  const bool is_left_out = origin.sampling == Sampling::left_out;
  const StackPart part = is_left_out ? StackPart::few : StackPart::all;
  KnownStacks* const stacks = captures_native_only(part) ? KnownStacks::of_thread() : nullptr;
  const StackNote* const note = stacks != nullptr ? stacks->find_note(door, part) : nullptr;
  if (note == nullptr || note->rest != rest) return {};
  return {.tag = note->tag, .stack = note->hash};
}

void note(const void* recorder, const ModuleTable& modules, const Origin& origin,
          std::uintptr_t caller, Tag tag) {
  if (tag == 0 || !may_need_caller_only(origin)) return;
  KnownCallers* const callers = KnownCallers::of_thread(recorder);
  if (callers == nullptr) return;
  if (origin.sampling == Sampling::left_out && !is_owner(modules, *callers, caller)) return;
  callers->learn(caller, StackKey::rest(origin, modules.epoch()), tag);
}

}  // namespace vramscope::known_tags
