// How the judge of the allocator proves a free block unused before it goes out again (at_reuse):
// see naive_model.h.
// SPDX-License-Identifier: Apache-2.0
#include "test/model/naive_model.h"
#include "test/model/naive_rules.h"

namespace vramscope {

// The number of the newest free that is known to be finished: an account for each place.
std::uint64_t& NaiveModel::finished(Place where) {
  return finished_[{where.kind == Kind::pinned, where.device, where.context}];
}

// The block at `address` is live already. Unless a wait finished that began after its last free, it
// is waited for now; of the hits that ask for nothing every 64th asks for an error. Without the
// proof the block becomes free again, as if it had been all the time.
NaiveModel::Proof NaiveModel::prove(Place where, Address address, Status& status) {
  const Spot spot = start_of_live_block(address);
  const std::uint64_t number = segments_[spot.segment].blocks[spot.block].number;
  const bool must_wait = number > finished(where);
  if (!waits_at_reuse()) return Proof::given;
  if (!must_wait && ++hits_ < 64) return Proof::given;
  hits_ = 0;
  const bool may_ask = backend_.may_wait(where);
  if (!may_ask && !must_wait) return Proof::given;
  if (may_ask) status = (must_wait ? backend_.wait(where) : backend_.probe(where)).status;
  if (may_ask && status.ok()) {
    if (must_wait) finished(where) = frees_;
    return Proof::given;
  }
  const ModelBlock unseen = segments_[spot.segment].blocks[spot.block];
  begin_free(spot);
  put_back(spot, number);
  forget_request(where, unseen);
  return may_ask ? Proof::refused : Proof::not_now;
}

}  // namespace vramscope
