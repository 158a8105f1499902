// Unpacks by zlib, within a limit.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/import/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "reporter/report/files/input_file.h"

namespace vramscope {
namespace {

constexpr std::size_t kChunk = 1 << 18;

class Unpacking {
 public:
  explicit Unpacking(std::string_view bytes) : bytes_(bytes) {
    constexpr int kGzipAlone = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipAlone) != Z_OK) throw std::bad_alloc();
  }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() { inflateEnd(&stream_); }

  enum class Step : std::uint8_t { more, end, cut_off, damaged };

  // Appends up to kChunk bytes.
  Step step(std::string& text) {
    const std::size_t used = text.size();
    text.resize(used + kChunk);
    stream_.next_out = reinterpret_cast<Bytef*>(text.data() + used);
    stream_.avail_out = kChunk;
    give();
    const std::size_t given = stream_.avail_in;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    at_ += given - stream_.avail_in;
    text.resize(used + kChunk - stream_.avail_out);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END) return next_part();
    if (result == Z_BUF_ERROR && at_ == bytes_.size()) return Step::cut_off;
    return result == Z_OK || result == Z_BUF_ERROR ? Step::more : Step::damaged;
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  void give() {
    const std::size_t rest = bytes_.size() - at_;
    // zlib does not write to what it reads.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data() + at_));
    stream_.avail_in =
        static_cast<uInt>(std::min<std::size_t>(rest, std::numeric_limits<uInt>::max()));
  }
  // A file may have several, and zeros after them, which gzip ignores, too.
  Step next_part() {
    while (at_ < bytes_.size() && bytes_[at_] == '\0') ++at_;
    if (at_ == bytes_.size()) return Step::end;
    return inflateReset(&stream_) == Z_OK ? Step::more : Step::damaged;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  z_stream stream_{};
};

}  // namespace

bool is_gzip(std::string_view head) { return head.starts_with("\x1f\x8b"); }

Unpacked unpack_gzip(std::string_view bytes, std::size_t most_bytes) {
  using enum Unpacking::Step;
  Unpacking unpacking(bytes);
  Unpacked result;
  for (auto step = more; step == more;) {
    step = unpacking.step(result.text);
    const std::string at = "byte " + std::to_string(unpacking.at());
    if (step == cut_off) result.problem = ends_early_at(unpacking.at());
    if (step == damaged) result.problem = at + ": expected what gzip can unpack";
    if (result.text.size() > most_bytes) {
      result.problem = at + ": unpacks to more than " + std::to_string(most_bytes) + " bytes";
      break;
    }
  }
  return result;
}

std::string beginning_of_gzip(std::string_view bytes, std::size_t most_bytes) {
  Unpacking unpacking(bytes);
  std::string text;
  while (text.size() < most_bytes && unpacking.step(text) == Unpacking::Step::more) {
  }
  text.resize(std::min(text.size(), most_bytes));
  return text;
}

}  // namespace vramscope
