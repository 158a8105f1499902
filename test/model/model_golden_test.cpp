// Proves the naive model against recorded answers of PyTorch, so that it may judge ours.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "allocator/base/snapshot.h"
#include "interpose/settings/alloc_conf.h"
#include "test/model/naive_model.h"
#include "test/model/plain_backend.h"

namespace vramscope {
namespace {

constexpr std::array kTraces = {"edge-default-16",   "edge-default-4",   "edge-mixed-28",
                                "edge-roundlist-25", "edge-split25-21",  "gc-default-5",
                                "gc-gc-26",          "gc-mixed-27",      "large-default-3",
                                "large-split25-22",  "large-split64-23", "rnd-default-0",
                                "rnd-default-17",    "rnd-round4-24",    "small-default-2",
                                "switch-default-29", "train-default-1"};

// CRC-32 of zlib, of 64-bit little-endian values.
class Digest {
 public:
  void add(std::int64_t value) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
  [[nodiscard]] std::string text() const {
    std::array<char, 9> hex{};
    std::snprintf(hex.data(), hex.size(), "%08x", ~crc_);
    return hex.data();
  }

 private:
  void add_byte(std::uint64_t byte) {
    constexpr std::uint32_t kPolynomial = 0xedb88320;  // of CRC-32, bits reversed
    crc_ ^= static_cast<std::uint32_t>(byte);
    for (int i = 0; i < 8; ++i) crc_ = crc_ >> 1 ^ (crc_ & 1 ? kPolynomial : 0);
  }
  std::uint32_t crc_ = ~0u;
};

std::string statistics_line(const NaiveModel& model) {
  std::ostringstream out;
  out << '{';
  const char* separator = "";
  for (const auto& [key, value] : model.device_keys(0)) {
    out << std::exchange(separator, ", ") << '"' << key << "\": " << value;
  }
  out << '}';
  return out.str();
}

void write_block(std::ostream& out, const ModelBlock& block) {
  out << "{\"address\": " << block.address << ", \"size\": " << block.size
      << ", \"requested_size\": " << block.requested << ", \"state\": \""
      << kBlockStateNames[static_cast<std::size_t>(block.state)] << "\"}";
}

void write_segment(std::ostream& out, const ModelSegment& segment) {
  std::uint64_t allocated = 0;
  std::uint64_t active = 0;
  std::uint64_t requested = 0;
  for (const ModelBlock& block : segment.blocks) {
    if (block.state == BlockState::active_allocated) allocated += block.size;
    if (block.state == BlockState::inactive) continue;
    active += block.size;
    requested += block.requested;
  }
  out << "{\"address\": " << segment.address << ", \"total_size\": " << segment.size
      << ", \"allocated_size\": " << allocated << ", \"active_size\": " << active
      << ", \"requested_size\": " << requested << ", \"stream\": 0, \"segment_type\": \""
      << (segment.is_small ? "small" : "large") << "\", \"is_expandable\": false, \"blocks\": [";
  const char* separator = "";
  for (const ModelBlock& block : segment.blocks) {
    out << std::exchange(separator, ", ");
    write_block(out, block);
  }
  out << "]}";
}

std::string snapshot_line(const NaiveModel& model) {
  std::ostringstream out;
  out << "{\"segments\": [";
  const char* separator = "";
  for (const ModelSegment& segment : model.segments()) {
    out << std::exchange(separator, ", ");
    write_segment(out, segment);
  }
  out << "]}";
  return out.str();
}

// Plays one trace; the lines that it answers, as `allocator_player --digest` prints them.
class Player {
 public:
  explicit Player(const std::string& settings) { apply(settings); }

  void play(const std::string& line, std::vector<std::string>& answers) {
    std::istringstream in(line);
    char operation = 0;
    in >> operation;
    if (operation == 'c') {
      in >> capacity_;
      return;
    }
    if (!model_) start();
    std::string answer = perform(operation, in);
    if (!answer.empty()) answers.push_back(std::move(answer));
    Digest digest;
    for (const auto& [key, value] : model_->device_keys(0)) digest.add(value);
    answers.push_back("d " + digest.text());
  }

 private:
  void apply(const std::string& settings) {
    const AllocConf conf = parse_alloc_conf(settings, limits_);
    EXPECT_TRUE(conf.problems.empty());
    limits_ = conf.limits;
  }

  void start() {
    backend_ = std::make_unique<PlainBackend>(capacity_);
    limits_.exact_fallback = false;
    model_ = std::make_unique<NaiveModel>(*backend_, limits_);
  }

  std::string perform(char operation, std::istringstream& in) {
    std::uint64_t number = 0;
    std::string settings;
    switch (operation) {
      case 'a':
        return allocate(in);
      case 'f':
        in >> number;
        release(number);
        break;
      case 'p':
        model_->reset_peaks();
        break;
      case 'r':
        model_->reset_accumulated();
        break;
      case 'e':
        model_->trim();
        break;
      case 'k':
        in >> number;
        backend_->fail_call(number);
        break;
      case 'F':
        in >> limits_.memory_fraction;
        model_->set_limits(limits_);
        break;
      case 'o':
        std::getline(in, settings);
        apply(settings);
        model_->set_limits(limits_);
        break;
      case 's':
        return statistics_line(*model_);
      case 'm':
        return snapshot_line(*model_);
      default:
        ADD_FAILURE() << "unknown operation " << operation;
    }
    return {};
  }

  std::string allocate(std::istringstream& in) {
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;
    in >> id >> bytes;
    const std::string head = "a " + std::to_string(id) + ' ';
    if (bytes == 0) return head + "0x0";
    const Outcome outcome = model_->allocate({.where = {}, .bytes = bytes, .tag = 1});
    if (!outcome.status.ok()) return head + "oom";
    address_[id] = outcome.address;
    std::ostringstream text;
    text << head << "0x" << std::hex << outcome.address;
    return text.str();
  }

  void release(std::uint64_t id) {
    const auto found = address_.find(id);
    if (found == address_.end()) return;
    EXPECT_TRUE(model_->free(found->second).status.ok());
    address_.erase(found);
  }

  std::uint64_t capacity_ = 16ull << 30;
  Limits limits_;
  std::unique_ptr<PlainBackend> backend_;
  std::unique_ptr<NaiveModel> model_;
  std::map<std::uint64_t, Address> address_;
};

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << "cannot read " << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class ModelGolden : public testing::TestWithParam<const char*> {};

TEST_P(ModelGolden, AnswersAsRecorded) {
  const char* folder = std::getenv("VRAMSCOPE_GOLDEN");
  ASSERT_NE(folder, nullptr) << "set VRAMSCOPE_GOLDEN to the folder of the golden traces";
  const std::string base = std::string(folder) + "/" + GetParam();
  const std::vector<std::string> expected = lines_of(base + ".expected");

  std::string settings;
  std::getline(std::ifstream(base + ".conf"), settings);  // not every trace has settings
  Player player(settings);
  std::vector<std::string> answers;
  std::size_t number = 0;
  for (const std::string& line : lines_of(base + ".trace")) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::size_t before = answers.size();
    player.play(line, answers);
    ASSERT_LE(answers.size(), expected.size());
    for (std::size_t i = before; i < answers.size(); ++i) {
      ASSERT_EQ(answers[i], expected[i]) << base << ".trace:" << number << ": " << line;
    }
  }

  EXPECT_EQ(answers.size(), expected.size());
}

INSTANTIATE_TEST_SUITE_P(Traces, ModelGolden, testing::ValuesIn(kTraces), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace vramscope
