#include "weft/cli/bench/serve_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/measure/load/load_report.h"

namespace weft::cli {

using measure::Outcome;
using measure::ServerApi;

namespace {

/// A generator that sends later than this, in seconds, distorts what it measures.
constexpr double kLate = 0.010;

std::string prompt_lengths(const ServedLoad& what) {
  if (!what.prompts.empty()) return "of " + what.prompts;
  if (what.api == ServerApi::kCompletions) return "token ids from " + what.ids;
  return "words, about a token each";
}

std::string count_of(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// Adds how late the generator itself was, where requests were to be sent at given times.
void add_lateness(const LoadOptions& load, const std::vector<Outcome>& outcomes,
                  measure::Report& report) {
  if (load.concurrency > 0 || outcomes.empty()) return;
  std::vector<double> late;
  for (const Outcome& one : outcomes) late.push_back(one.sent - one.asked.at);
  const double p99 = measure::quantile(late, 0.99);
  report.facts.emplace_back("sent late by", measure::number(1e3 * p99) + " ms (p99)");
  if (p99 <= kLate) return;
  report.findings.push_back("Requests were sent up to " + measure::number(1e3 * p99) +
                            " ms (p99) after they were due: this machine could not keep up.");
}

/// Warns where answers have other lengths than the load asked for, because the figures then belong
/// to another load.
void add_lengths(const ServedLoad& what, const std::vector<Outcome>& outcomes,
                 measure::Report& report) {
  std::size_t shorter = 0;
  std::size_t other_prompt = 0;
  for (const Outcome& one : outcomes) {
    if (!one.error.empty()) continue;
    shorter += one.output < one.asked.output ? 1 : 0;
    other_prompt += one.prompt != 0 && one.prompt != one.asked.prompt ? 1 : 0;
  }
  if (what.ignore_eos && shorter > 0) {
    report.findings.push_back(count_of(shorter, "answer was", "answers were") +
                              " shorter than asked for: the server may not know ignore_eos, or "
                              "its context has ended.");
  }
  if (what.prompts.empty() && what.api == ServerApi::kCompletions && other_prompt > 0) {
    report.findings.push_back(count_of(other_prompt, "prompt was", "prompts were") +
                              " counted by the server with another length than was sent.");
  }
}

void add_errors(const PlayedLoad& played, measure::Report& report) {
  for (const auto& [kind, words] : played.words) {
    if (words.empty()) continue;
    report.findings.emplace_back("The first of \"").append(kind).append("\": ").append(words);
  }
  if (played.not_sent == 0) return;
  report.findings.push_back(
      "It was broken off: " + count_of(played.not_sent, "request was", "requests were") +
      " not sent.");
}

}  // namespace

measure::Report serve_report(const ServedLoad& what, const LoadOptions& load,
                             const PlayedLoad& played) {
  const measure::Slo slo = slo_of(load);
  const measure::Summary summary = measure::summarize(played.outcomes, slo);
  measure::Report report;
  report.title = "Load of " + what.model + " at " + what.server;
  report.summary = std::to_string(summary.done) + " of " +
                   count_of(summary.asked, "request was", "requests were") + " answered in " +
                   measure::number(summary.seconds) +
                   " s: " + measure::number(summary.tokens_per_second()) +
                   " output tokens a second.";
  report.facts = {{"server", what.server},
                  {"model", what.model},
                  {"API", std::string(measure::to_string(what.api)) +
                              (what.api == ServerApi::kResponses ? ", WebSocket" : ", SSE")},
                  {"prompts", prompt_lengths(what)},
                  {"warm-up", count_of(what.warm_up, "request", "requests")}};
  std::ranges::copy(load_facts(load), std::back_inserter(report.facts));
  report.facts.emplace_back("generator", "weft " WEFT_VERSION);
  add_lateness(load, played.outcomes, report);
  report.tables = measure::load_tables(summary, slo);
  report.figures = measure::load_figures(played.outcomes);
  add_lengths(what, played.outcomes, report);
  add_errors(played, report);
  report.data = measure::load_data(played.outcomes, slo, played.words);
  return report;
}

}  // namespace weft::cli
