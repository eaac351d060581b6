#pragma once

#include <cstddef>
#include <string>

#include "weft/cli/bench/load_options.h"
#include "weft/cli/bench/load_play.h"
#include "weft/measure/report/report.h"
#include "weft/measure/server/server_question.h"

namespace weft::cli {

/// The settings of a load that was played against a server.
struct ServedLoad {
  std::string server;
  std::string model;
  measure::ServerApi api = measure::ServerApi::kCompletions;
  std::string prompts;  ///< the file of prompts; "" = prompts are drawn
  std::string ids;      ///< the range of token ids that prompts are drawn from
  bool ignore_eos = true;
  std::size_t warm_up = 0;
};

/// Makes the report of `weft bench serve`.
[[nodiscard]] measure::Report serve_report(const ServedLoad& what, const LoadOptions& load,
                                           const PlayedLoad& played);

}  // namespace weft::cli
