#include "weft/measure/load/load_report.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace weft::measure {

namespace json = boost::json;

namespace {

constexpr double kMillisecondsInSecond = 1e3;

Table empty_table(std::string title, std::vector<std::string> columns) {
  Table table;
  table.title = std::move(title);
  table.columns = std::move(columns);
  return table;
}

std::vector<std::string> latency_row(std::string name, const Spread& spread) {
  std::vector<std::string> row{std::move(name)};
  for (const double seconds : {spread.mean, spread.p50, spread.p90, spread.p99, spread.max}) {
    row.push_back(spread.count == 0 ? "-" : number(kMillisecondsInSecond * seconds));
  }
  return row;
}

Table latency_table(const Summary& summary) {
  Table table = empty_table("Latency, ms", {"", "mean", "p50", "p90", "p99", "max"});
  table.rows = {latency_row("time to first token", summary.first_token),
                latency_row("inter-token time", summary.between),
                latency_row("time per output token", summary.per_token),
                latency_row("end to end", summary.whole),
                latency_row("normalized (end to end / output tokens)", summary.normalized)};
  return table;
}

double per_second(std::int64_t count, const Summary& summary) {
  return summary.seconds > 0 ? static_cast<double>(count) / summary.seconds : 0;
}

Table throughput_table(const Summary& summary, const Slo& slo) {
  Table table = empty_table("Throughput", {"", "in all", "a second"});
  table.rows = {{"requests that were answered", std::to_string(summary.done),
                 number(summary.requests_per_second())},
                {"prompt tokens", std::to_string(summary.prompt_tokens),
                 number(per_second(summary.prompt_tokens, summary))},
                {"output tokens", std::to_string(summary.output_tokens),
                 number(summary.tokens_per_second())}};
  if (slo.is_set()) {
    table.rows.push_back({"requests within the objective (goodput)",
                          number(100 * summary.good) + " %", number(summary.goodput())});
  }
  table.note = std::to_string(summary.asked) + " requests in " + number(summary.seconds) + " s";
  return table;
}

json::object spread_data(const Spread& spread) {
  return {{"count", spread.count}, {"mean", spread.mean}, {"p50", spread.p50},
          {"p90", spread.p90},     {"p99", spread.p99},   {"max", spread.max}};
}

json::object request_data(const Outcome& one) {
  json::object request{{"due", one.asked.at},
                       {"began", one.began},
                       {"sent", one.sent},
                       {"asked_prompt", one.asked.prompt},
                       {"asked_output", one.asked.output},
                       {"prompt", one.prompt},
                       {"output", one.output},
                       {"end", one.end}};
  request["first"] = one.came.empty() ? json::value(nullptr) : json::value(one.came.front());
  request["error"] = one.error.empty() ? json::value(nullptr) : json::value(one.error);
  return request;
}

}  // namespace

std::vector<Table> load_tables(const Summary& summary, const Slo& slo) {
  std::vector<Table> tables{latency_table(summary), throughput_table(summary, slo)};
  if (summary.errors.empty()) return tables;
  Table errors = empty_table("Errors", {"kind", "requests"});
  for (const auto& [kind, count] : summary.errors) {
    errors.rows.push_back({kind, std::to_string(count)});
  }
  tables.push_back(std::move(errors));
  return tables;
}

json::value load_data(const std::vector<Outcome>& outcomes, const Slo& slo,
                      const std::map<std::string, std::string>& words) {
  const Summary summary = summarize(outcomes, slo);
  json::object errors;
  for (const auto& [kind, count] : summary.errors) {
    const auto found = words.find(kind);
    errors[kind] =
        json::object{{"count", count}, {"first", found == words.end() ? "" : found->second}};
  }
  json::array requests;
  for (const Outcome& one : outcomes) requests.push_back(request_data(one));
  return json::object{{"asked", summary.asked},
                      {"done", summary.done},
                      {"seconds", summary.seconds},
                      {"prompt_tokens", summary.prompt_tokens},
                      {"output_tokens", summary.output_tokens},
                      {"requests_per_second", summary.requests_per_second()},
                      {"tokens_per_second", summary.tokens_per_second()},
                      {"good", summary.good},
                      {"goodput", summary.goodput()},
                      {"slo", json::object{{"first_token", slo.first_token},
                                           {"per_token", slo.per_token},
                                           {"whole", slo.whole}}},
                      {"first_token", spread_data(summary.first_token)},
                      {"between", spread_data(summary.between)},
                      {"per_token", spread_data(summary.per_token)},
                      {"whole", spread_data(summary.whole)},
                      {"normalized", spread_data(summary.normalized)},
                      {"errors", std::move(errors)},
                      {"requests", std::move(requests)}};
}

}  // namespace weft::measure
