#include "weft/measure/load/outcome.h"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <numeric>
#include <utility>

#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

bool keeps(const Outcome& outcome, const Slo& slo) {
  return (slo.first_token <= 0 || first_token_of(outcome) <= slo.first_token) &&
         (slo.per_token <= 0 || per_token_of(outcome) <= slo.per_token) &&
         (slo.whole <= 0 || outcome.end <= slo.whole);
}

double rate(double count, double seconds) { return seconds > 0 ? count / seconds : 0; }

}  // namespace

std::vector<Outcome> require_served(std::vector<Outcome> outcomes, std::string_view part) {
  for (const Outcome& one : outcomes) {
    if (one.error.empty()) continue;
    throw boost::system::system_error(make_error_code(MeasureErrc::kBadLoad),
                                      std::string(part) + ": a request failed: " + one.error);
  }
  return outcomes;
}

Spread Spread::of(std::vector<double> values) {
  Spread spread;
  if (values.empty()) return spread;
  spread.count = values.size();
  spread.mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  spread.p50 = quantile(values, 0.5);
  spread.p90 = quantile(values, 0.9);
  spread.p99 = quantile(values, 0.99);
  spread.max = *std::ranges::max_element(values);
  return spread;
}

double Summary::requests_per_second() const noexcept {
  return rate(static_cast<double>(done), seconds);
}
double Summary::tokens_per_second() const noexcept {
  return rate(static_cast<double>(output_tokens), seconds);
}
double Summary::goodput() const noexcept {
  return rate(good * static_cast<double>(asked), seconds);
}

double first_token_of(const Outcome& outcome) noexcept {
  return outcome.came.empty() ? outcome.end : outcome.came.front();
}

double per_token_of(const Outcome& outcome) noexcept {
  if (outcome.output < 2) return 0;
  return (outcome.end - first_token_of(outcome)) / (outcome.output - 1);
}

double normalized_of(const Outcome& outcome) noexcept {
  return outcome.end / std::max(outcome.output, 1);
}

Summary summarize(const std::vector<Outcome>& outcomes, const Slo& slo) {
  Summary summary;
  summary.asked = outcomes.size();
  std::vector<double> first;
  std::vector<double> between;
  std::vector<double> per_token;
  std::vector<double> whole;
  std::vector<double> normalized;
  std::size_t good = 0;
  for (const Outcome& one : outcomes) {
    summary.seconds = std::max(summary.seconds, one.began + one.end);
    if (!one.error.empty()) {
      ++summary.errors[one.error];
      continue;
    }
    ++summary.done;
    summary.prompt_tokens += one.prompt;
    summary.output_tokens += one.output;
    first.push_back(first_token_of(one));
    if (one.output > 1) per_token.push_back(per_token_of(one));
    whole.push_back(one.end);
    normalized.push_back(normalized_of(one));
    for (std::size_t i = 1; i < one.came.size(); ++i) {
      between.push_back(one.came[i] - one.came[i - 1]);
    }
    good += keeps(one, slo) ? 1 : 0;
  }
  summary.first_token = Spread::of(std::move(first));
  summary.between = Spread::of(std::move(between));
  summary.per_token = Spread::of(std::move(per_token));
  summary.whole = Spread::of(std::move(whole));
  summary.normalized = Spread::of(std::move(normalized));
  if (summary.asked > 0) {
    summary.good = static_cast<double>(good) / static_cast<double>(summary.asked);
  }
  return summary;
}

}  // namespace weft::measure
