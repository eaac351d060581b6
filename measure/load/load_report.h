#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "weft/measure/load/outcome.h"
#include "weft/measure/report/report.h"

namespace weft::measure {

/// Returns latency, throughput and errors of a load as a report's tables, in milliseconds, tokens
/// and requests a second. They include the goodput where `slo` is set.
[[nodiscard]] std::vector<Table> load_tables(const Summary& summary, const Slo& slo);

/// Returns figures of a load: the distribution of its times, arrivals and tokens over time, and how
/// many requests were under way.
[[nodiscard]] std::vector<Figure> load_figures(const std::vector<Outcome>& outcomes);

/// The summary and each request as JSON, in seconds and tokens; `words` has the message of each
/// kind of error's first case.
[[nodiscard]] boost::json::value load_data(const std::vector<Outcome>& outcomes, const Slo& slo,
                                           const std::map<std::string, std::string>& words = {});

}  // namespace weft::measure
