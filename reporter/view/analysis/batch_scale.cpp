// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/batch_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/stack_front.h"

namespace vramscope {
namespace {

using Key = std::pair<Kind, std::vector<std::string>>;

// The GPU whose sites held most at the peaks of their kinds.
std::uint16_t largest_device(const Report& report) {
  std::map<std::uint16_t, std::uint64_t> held;
  for (const Site& site : report.sites) {
    for (const SitePart& part : site.parts) {
      if (takes_room(part.kind)) held[part.device] += part.totals.peak_bytes;
    }
  }
  const auto most = std::ranges::max_element(held, {}, [](const auto& one) { return one.second; });
  return most == held.end() ? std::uint16_t{0} : most->first;
}

// The least sum of squares of c0 + c1 x + ... + cn x^n, of as many points at least.
template <std::size_t Terms>
std::array<double, Terms> least_squares(const std::vector<double>& x,
                                        const std::vector<double>& y) {
  std::array<std::array<double, Terms + 1>, Terms> rows{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t r = 0; r < Terms; ++r) {
      for (std::size_t c = 0; c < Terms; ++c) rows[r][c] += std::pow(x[i], r + c);
      rows[r][Terms] += std::pow(x[i], r) * y[i];
    }
  }
  for (std::size_t pivot = 0; pivot < Terms; ++pivot) {
    for (std::size_t r = 0; r < Terms; ++r) {
      if (r == pivot || rows[pivot][pivot] == 0) continue;
      const double factor = rows[r][pivot] / rows[pivot][pivot];
      for (std::size_t c = pivot; c <= Terms; ++c) rows[r][c] -= factor * rows[pivot][c];
    }
  }
  std::array<double, Terms> found{};
  for (std::size_t r = 0; r < Terms; ++r) {
    if (rows[r][r] != 0) found[r] = rows[r][Terms] / rows[r][r];
  }
  return found;
}

ScaleRow row_of(const std::vector<ScaledRun>& runs, SiteAtPeak site,
                std::vector<std::uint64_t> bytes) {
  std::vector<std::uint64_t> batches;
  for (const ScaledRun& run : runs) batches.push_back(run.batch);
  ScaleRow row{.site = std::move(site), .bytes = std::move(bytes)};
  row.model = model_of(batches, row.bytes);
  return row;
}

std::vector<ScaleRow> rows_of(const std::vector<ScaledRun>& runs) {
  std::map<Key, ScaleRow> rows;
  std::vector<std::uint64_t> rest;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::uint64_t sum = 0;
    for (const SiteAtPeak& site : runs[i].sites) {
      ScaleRow& row = rows[{site.kind, site.frames}];
      if (row.bytes.empty()) row = {.site = site, .bytes = std::vector<std::uint64_t>(runs.size())};
      row.bytes[i] += site.bytes;
      sum += site.bytes;
    }
    rest.push_back(runs[i].least_bytes - std::min(sum, runs[i].least_bytes));
  }
  std::vector<ScaleRow> found;
  for (auto& [key, row] : rows) {
    found.push_back(row_of(runs, std::move(row.site), std::move(row.bytes)));
  }
  std::ranges::stable_sort(found, std::greater{},
                           [](const ScaleRow& row) { return row.bytes.back(); });
  found.push_back(row_of(runs, {}, std::move(rest)));
  found.back().is_rest = true;
  return found;
}

ScalePrediction predicted(const std::vector<ScaleRow>& rows, std::uint64_t batch) {
  double requested = 0, rest = 0;
  for (const ScaleRow& row : rows) (row.is_rest ? rest : requested) += row.model.at(batch);
  return {.batch = batch,
          .requested_bytes = static_cast<std::uint64_t>(requested),
          .least_bytes = static_cast<std::uint64_t>(requested + rest)};
}

std::optional<std::uint64_t> largest_batch(const std::vector<ScaleRow>& rows, std::uint64_t bytes,
                                           std::uint64_t most) {
  const auto fits = [&](std::uint64_t batch) {
    return predicted(rows, batch).least_bytes <= bytes;
  };
  if (fits(most)) return std::nullopt;
  std::uint64_t low = 0, high = most;  // fits, or nothing; does not fit
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::vector<SiteAtPeak> sites_at_peak(const Report& report, const NameFrame& name) {
  const std::uint16_t device = largest_device(report);
  std::vector<SiteAtPeak> sites;
  for (const Site& site : report.sites) {
    for (const SitePart& part : site.parts) {
      const bool is_held = part.device == device && part.totals.peak_bytes != 0;
      if (!is_held || !takes_room(part.kind)) continue;
      SiteAtPeak one{.kind = part.kind, .frames = {}, .where = {}, .bytes = part.totals.peak_bytes};
      for (const Caller& caller : call_site(report, site, name, kFramesCompared).callers) {
        one.frames.push_back(listed_text(caller, name));
      }
      for (const Caller& caller : call_site_in_text(report, site, name, 2).callers) {
        one.where += (one.where.empty() ? "" : " < ") + text(caller);
      }
      sites.push_back(std::move(one));
    }
  }
  return sites;
}

double ScaleModel::at(std::uint64_t batch) const {
  const auto x = static_cast<double>(batch);
  return std::max(0.0, constant + linear * x + quadratic * x * x);
}

ScaleModel model_of(const std::vector<std::uint64_t>& batches,
                    const std::vector<std::uint64_t>& bytes) {
  const std::vector<double> x(batches.begin(), batches.end());
  const std::vector<double> y(bytes.begin(), bytes.end());
  const double allowed = kSameScale * *std::ranges::max_element(y);
  const auto measured = [&](ScaleModel model) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      model.residual = std::max(model.residual, std::abs(model.at(batches[i]) - y[i]));
    }
    return model;
  };
  const ScaleModel constant = measured({.constant = least_squares<1>(x, y)[0]});
  if (constant.residual <= allowed) return constant;
  const auto line = least_squares<2>(x, y);
  const ScaleModel linear =
      measured({.growth = ScaleGrowth::linear, .constant = line[0], .linear = line[1]});
  if (linear.residual <= allowed || x.size() < 3) return linear;
  const auto curve = least_squares<3>(x, y);
  if (curve[2] <= 0) return linear;
  return measured({.growth = ScaleGrowth::quadratic,
                   .constant = curve[0],
                   .linear = curve[1],
                   .quadratic = curve[2]});
}

ScaleAnswer scale_of(std::vector<ScaledRun> runs, const std::vector<std::uint64_t>& ats) {
  std::ranges::sort(runs, {}, &ScaledRun::batch);
  ScaleAnswer answer{.runs = std::move(runs), .rows = {}, .predictions = {}, .gpus = {}};
  answer.rows = rows_of(answer.runs);
  for (const std::uint64_t at : ats) answer.predictions.push_back(predicted(answer.rows, at));
  const std::uint64_t most = answer.runs.back().batch * kMostTimes;
  for (UsualGpu& gpu : usual_gpus()) {
    const auto batch = largest_batch(answer.rows, gpu.bytes, most);
    answer.gpus.push_back({.gpu = std::move(gpu), .batch = batch});
  }
  if (answer.runs.size() > 2) {
    const ScaledRun& last = answer.runs.back();
    const std::vector<ScaledRun> others(answer.runs.begin(), answer.runs.end() - 1);
    const auto least = static_cast<double>(predicted(rows_of(others), last.batch).least_bytes);
    const auto real = static_cast<double>(std::max<std::uint64_t>(last.least_bytes, 1));
    answer.check = (least - real) / real;
  }
  return answer;
}

}  // namespace vramscope
