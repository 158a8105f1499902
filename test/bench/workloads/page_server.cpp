// Serves a language model of the size of Llama 3 8B with a key-value cache in pages, under a load
// that comes in bursts: pages come with tokens and go with requests.
// SPDX-License-Identifier: Apache-2.0
//
// page_server [STEPS]: 32 layers of width 4096, keys and values of 8 heads of 128, inner width
// 14336, vocabulary 128256, bfloat16: a page of 16 tokens is 2 MiB for all layers. Prompts have 16
// to 8192 tokens and are read in chunks of up to 2048, answers 8 to 2048; at most 256 requests run
// at once, and a fifth of the prompts leave their pages for a while, as a cache of prefixes does.
#include <deque>
#include <vector>

#include "test/bench/workloads/program.h"

namespace {

using workload::Buffer;

constexpr std::size_t kLayers = 32;
constexpr std::size_t kHidden = 4096;
constexpr std::size_t kKeys = 1024;  // width of keys, and of values
constexpr std::size_t kInner = 14336;
constexpr std::size_t kVocabulary = 128256;
constexpr std::size_t kHalf = 2;
constexpr std::size_t kTokensOfPage = 16;
constexpr std::size_t kPage = kLayers * 2 * kKeys * kHalf * kTokensOfPage;
static_assert(kPage == 2 * workload::kMiB);
constexpr std::size_t kChunk = 2048;  // tokens of a prompt read at once
constexpr std::size_t kMostRequests = 256;
constexpr std::size_t kMostPages = 24576;  // 48 GiB
constexpr std::size_t kMostPrefixes = 64;

struct Request {
  std::size_t prompt = 0;  // tokens
  std::size_t answer = 0;
  std::size_t seen = 0;  // of both
  std::vector<Buffer> pages;
  [[nodiscard]] bool is_read() const { return seen >= prompt; }
  [[nodiscard]] bool is_over() const { return seen >= prompt + answer; }
};

// Bursts: for some time eight times as many requests come as else.
class Load {
 public:
  int arrivals() {
    if (left_-- == 0) {
      busy_ = !busy_;
      left_ = lengths_.next(busy_ ? 40 : 150, 0.5, 5, 600);
    }
    return lengths_.arrivals(busy_ ? 1.6 : 0.2);
  }
  Request request() {
    return {.prompt = lengths_.next(500, 1.0, 16, 8192),
            .answer = lengths_.next(220, 0.8, 8, 2048),
            .seen = 0,
            .pages = {}};
  }
  bool leaves_prefix() { return lengths_.share() < 0.2; }

 private:
  workload::Lengths lengths_{9};
  bool busy_ = true;
  std::size_t left_ = 0;
};

class Server {
 public:
  Server() {
    weights_.emplace_back(kVocabulary * kHidden * kHalf);
    weights_.emplace_back(kVocabulary * kHidden * kHalf);
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      weights_.emplace_back(kHidden * (kHidden + 2 * kKeys) * kHalf);
      weights_.emplace_back(kHidden * kHidden * kHalf);
      weights_.emplace_back(kHidden * 2 * kInner * kHalf);
      weights_.emplace_back(kInner * kHidden * kHalf);
      weights_.emplace_back(kHidden * kHalf);
      weights_.emplace_back(kHidden * kHalf);
    }
  }

  void step() {
    for (int i = load_.arrivals(); i > 0; --i) waiting_.push_back(load_.request());
    while (!waiting_.empty() && running_.size() < kMostRequests && pages_ < kMostPages * 9 / 10) {
      running_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    if (running_.empty()) return;
    compute(advance());
    retire();
  }

 private:
  // One prompt is read on by a chunk, all other requests by a token. Gives the tokens of the step.
  std::size_t advance() {
    std::size_t tokens = 0;
    bool has_read = false;
    for (Request& request : running_) {
      std::size_t more = 1;
      if (!request.is_read()) {
        if (std::exchange(has_read, true)) continue;
        more = std::min(kChunk, request.prompt - request.seen);
      }
      request.seen += more;
      tokens += more;
      while (request.pages.size() * kTokensOfPage < request.seen) add_page(request);
    }
    return tokens;
  }

  // Prefixes make room first, then the request that came last begins again.
  void add_page(Request& request) {
    if (pages_ >= kMostPages && !prefixes_.empty()) drop_prefix();
    while (pages_ >= kMostPages && &running_.back() != &request) {
      Request last = std::move(running_.back());
      running_.pop_back();
      pages_ -= last.pages.size();
      last.pages.clear();
      last.seen = 0;
      waiting_.push_front(std::move(last));
    }
    request.pages.emplace_back(kPage);
    ++pages_;
  }

  void compute(std::size_t tokens) {
    const std::size_t requests = running_.size();
    const Buffer tables(requests * 640 * 4);  // numbers of pages
    const Buffer positions(tokens * 8);
    Buffer hidden(tokens * kHidden * kHalf);
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const Buffer normed(tokens * kHidden * kHalf);
      {
        const Buffer projected(tokens * (kHidden + 2 * kKeys) * kHalf);
        const Buffer attention(tokens * kHidden * kHalf);
      }
      const Buffer gate_and_up(tokens * 2 * kInner * kHalf);
      const Buffer product(tokens * kInner * kHalf);
      hidden = Buffer(tokens * kHidden * kHalf);
    }
    const Buffer logits(requests * kVocabulary * 4);
    {
      const Buffer sorted(requests * kVocabulary * 4);
      const Buffer order(requests * kVocabulary * 8);
    }
    const Buffer chosen(requests * 8);
    workload::must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  void retire() {
    for (std::size_t i = 0; i < running_.size();) {
      if (!running_[i].is_over()) {
        ++i;
        continue;
      }
      Request request = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      const std::size_t kept = load_.leaves_prefix() ? request.prompt / kTokensOfPage : 0;
      pages_ -= request.pages.size() - kept;
      request.pages.resize(kept);
      if (kept > 0) prefixes_.push_back(std::move(request.pages));
      if (prefixes_.size() > kMostPrefixes) drop_prefix();
    }
  }
  void drop_prefix() {
    pages_ -= prefixes_.front().size();
    prefixes_.pop_front();
  }

  Load load_;
  std::vector<Buffer> weights_;
  std::deque<Request> waiting_;
  std::deque<Request> running_;
  std::deque<std::vector<Buffer>> prefixes_;
  std::size_t pages_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Server server;
  for (int steps = argc > 1 ? std::atoi(argv[1]) : 1500; steps > 0; --steps) server.step();
}
