// scale_of() fits how the memory of runs depends on a number of theirs, such as the batch, and
// predicts other runs from that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/trial/fit_answer.h"

namespace vramscope {

struct Report;

// What a call site held at the peak of a kind of memory, on the GPU that held most.
struct SiteAtPeak {
  Kind kind = Kind::device;
  std::vector<std::string> frames;  // innermost first; they are the site's name in all runs
  std::string where;                // the first of them, for a row
  std::uint64_t bytes = 0;
};
// All of this file may throw bad_alloc.
[[nodiscard]] std::vector<SiteAtPeak> sites_at_peak(const Report& report, const NameFrame& name);

struct ScaledRun {
  std::uint64_t batch = 0;        // above 0
  std::uint64_t least_bytes = 0;  // with which it completes
  std::vector<SiteAtPeak> sites;
};

// constant + linear * batch + quadratic * batch^2. The simplest is taken that is off by no more
// than kSameScale anywhere; a quadratic one needs three runs, and grows faster and faster.
enum class ScaleGrowth : std::uint8_t { constant, linear, quadratic };
inline constexpr double kSameScale = 0.01;
struct ScaleModel {
  ScaleGrowth growth = ScaleGrowth::constant;
  double constant = 0;
  double linear = 0;
  double quadratic = 0;
  double residual = 0;  // the most that it is off at a batch that ran

  // Never below 0.
  [[nodiscard]] double at(std::uint64_t batch) const;
};
[[nodiscard]] ScaleModel model_of(const std::vector<std::uint64_t>& batches,
                                  const std::vector<std::uint64_t>& bytes);

struct ScaleRow {
  bool is_rest =
      false;  // what the least memory has beyond the sites: contexts, rounding, free parts
  SiteAtPeak site = {};
  std::vector<std::uint64_t> bytes = {};  // by run
  ScaleModel model = {};
};

struct ScalePrediction {
  std::uint64_t batch = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t least_bytes = 0;
};

// The largest batch that fits a GPU; nullopt: none is too large, as far as kMostTimes times the
// largest that ran.
struct ScaledGpu {
  UsualGpu gpu;
  std::optional<std::uint64_t> batch = {};  // 0: not even 1
};
inline constexpr std::uint64_t kMostTimes = 1024;

struct ScaleAnswer {
  std::vector<ScaledRun> runs;  // by batch
  std::vector<ScaleRow> rows;   // the largest at the largest batch first; the rest is last
  std::vector<ScalePrediction> predictions;
  std::vector<ScaledGpu> gpus;
  // How far the prediction of the largest run is off that the others make, as a share of it;
  // nullopt: two runs cannot be checked so.
  std::optional<double> check = {};
};

// runs: at least two, of different batches. ats: batches to predict.
[[nodiscard]] ScaleAnswer scale_of(std::vector<ScaledRun> runs,
                                   const std::vector<std::uint64_t>& ats);

}  // namespace vramscope
