// Joins two tables by partitioned hash joins: partitions are staged in pinned memory and joined on
// four streams, as a database does whose tables are larger than the device.
// SPDX-License-Identifier: Apache-2.0
//
// hash_join [QUERIES]: orders and line items of TPC-H at scale 30 (45 and 180 million rows of a key
// and a row number), of which each query selects a share; 64 partitions of uneven size.
#include <array>
#include <bit>
#include <vector>

#include "test/bench/workloads/program.h"

namespace {

using workload::Buffer;
using workload::must;
using workload::Where;

constexpr std::size_t kRow = 16;  // bytes: a key and a row number
constexpr std::size_t kOrders = 45'000'000;
constexpr std::size_t kItems = 180'000'000;
constexpr std::size_t kPartitions = 64;
constexpr std::size_t kStreams = 4;
constexpr std::size_t kProbed = std::size_t{2} << 20;  // rows that are probed at once

struct Partition {
  std::size_t build_rows = 0;
  std::size_t probe_rows = 0;
};

// What a stream holds until its partition is joined.
struct Lane {
  cudaStream_t stream = nullptr;
  std::vector<Buffer> pinned;
  std::vector<Buffer> device;
};

class Join {
 public:
  Join() {
    for (Lane& lane : lanes_) must(cudaStreamCreate(&lane.stream), "cudaStreamCreate");
  }
  ~Join() {
    for (Lane& lane : lanes_) must(cudaStreamDestroy(lane.stream), "cudaStreamDestroy");
  }
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;

  void query() {
    const std::vector<Partition> partitions = partition();
    const Buffer histograms(2 * kPartitions * 1024 * 4);  // a block of threads each
    const Buffer offsets(2 * kPartitions * 8);
    for (std::size_t i = 0; i < partitions.size(); ++i) {
      Lane& lane = lanes_[i % kStreams];
      finish(lane);
      join(lane, partitions[i]);
    }
    for (Lane& lane : lanes_) finish(lane);
  }

 private:
  // Keys are skewed: some partitions are several times as large as others.
  std::vector<Partition> partition() {
    const double selected = 0.1 + 0.9 * lengths_.share();
    std::vector<Partition> partitions(kPartitions);
    for (Partition& one : partitions) {
      const auto orders = static_cast<double>(kOrders / kPartitions) * selected;
      one.build_rows = lengths_.next(orders, 0.5, 1000, kOrders / 8);
      one.probe_rows = lengths_.next(static_cast<double>(one.build_rows) * kItems / kOrders, 0.2,
                                     1000, kItems / 8);
    }
    return partitions;
  }

  void join(Lane& lane, const Partition& partition) {
    const auto pin = [&lane](std::size_t bytes) { lane.pinned.emplace_back(bytes, Where::pinned); };
    const auto take = [&lane](std::size_t bytes) { lane.device.emplace_back(bytes); };
    pin(partition.build_rows * kRow);
    take(partition.build_rows * kRow);
    take(std::bit_ceil(2 * partition.build_rows) * kRow);  // the hash table
    must(cudaStreamSynchronize(lane.stream), "cudaStreamSynchronize");
    lane.device.erase(lane.device.begin());  // the rows: they are in the table
    lane.pinned.clear();
    for (std::size_t row = 0; row < partition.probe_rows; row += kProbed) {
      const std::size_t rows = std::min(kProbed, partition.probe_rows - row);
      pin(rows * kRow);
      const Buffer probed(rows * kRow);
      const Buffer matches(rows / 256 * 4 + 4);  // a count for each block of threads
      const Buffer scanned(rows / 256 * 4 + 4);
      const auto found = static_cast<std::size_t>(static_cast<double>(rows) * lengths_.share());
      take((found + 1) * kRow);
      pin((found + 1) * kRow);
      must(cudaStreamSynchronize(lane.stream), "cudaStreamSynchronize");
    }
  }

  static void finish(Lane& lane) {
    must(cudaStreamSynchronize(lane.stream), "cudaStreamSynchronize");
    lane.device.clear();
    lane.pinned.clear();
  }

  workload::Lengths lengths_{3};
  std::array<Lane, kStreams> lanes_;
};

}  // namespace

int main(int argc, char** argv) {
  Join join;
  for (int queries = argc > 1 ? std::atoi(argv[1]) : 12; queries > 0; --queries) join.query();
}
