// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/page_answers.h"

#include <algorithm>
#include <vector>

#include "reporter/view/listing/json_text.h"
#include "reporter/view/page/page.h"
#include "reporter/view/text/replay_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kFindingsShown = 10;
constexpr std::size_t kSitesOfFinding = 5;  // of a finding

void add_finding(JsonText& json, const AdviceOf& of, const Advice& advice, const NameFrame& name) {
  const AdviceWords words = words_of(of.report, advice, name);
  std::vector<AdviceSite> sites = advice.sites;
  sites.resize(std::min(sites.size(), kSitesOfFinding));
  json.object().field("title", harmless(finding_title(of.report, advice, words)));
  json.field("shown", harmless(capitalised(words.shown) + "."));
  json.field("to_do", harmless("What to do: " + words.to_do + "."));
  json.field("command", words.command);
  json.field("sites_left_out", advice.sites.size() - sites.size());
  json.key("sites").json(json_of(sites, advice_site_columns(of.report, name))).end();
}

}  // namespace

std::string advice_for_page(const AdviceOf& of, const NameFrame& name) {
  const std::size_t shown = std::min(of.found.size(), kFindingsShown);
  JsonText json;
  json.object().field("file", harmless(of.file)).field("summary", findings_text(of));
  json.key("findings").array();
  for (std::size_t i = 0; i < shown; ++i) add_finding(json, of, of.found[i], name);
  json.end().field("left_out", of.found.size() - shown).field("rest", not_looked_for(of));
  return json.end().text();
}

std::string fit_for_page(const Fitted& fitted) {
  const FitAnswer& answer = fitted.answer;
  std::vector<std::string> settings;
  for (const FitRow& row : answer.rows) settings.push_back(marked_settings_text(row.row));
  JsonText json;
  json.object().key("answer").json(json_of(fitted, fit_fields({})));
  write_texts(json, "settings", settings);
  write_texts(json, "fits", fits_words(answer));
  write_texts(json, "remarks", fit_remarks(fitted));
  return json.end().text();
}

std::string left_to(const std::string& verb, const std::string& file) {
  return JsonText().object().field("verb", verb).field("file", harmless(file)).end().text();
}

}  // namespace vramscope
