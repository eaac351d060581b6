#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/measure/load/load.h"
#include "weft/measure/report/quantile.h"

namespace weft::measure {

/// The outcome of a request of a load. Times are in seconds. The request's times count from when it
/// was due, `asked.at`, so that a client that falls behind does not flatter the server. In a closed
/// loop they count from when it was sent.
struct Outcome {
  Arrival asked;
  std::string error;         ///< why the request failed, as a word or a code; empty: it succeeded
  double sent = 0;           ///< from the load's beginning
  double began = 0;          ///< from the load's beginning; the times below count from it
  std::int32_t prompt = 0;   ///< tokens, as the server or engine counts them
  std::int32_t output = 0;   ///< when the answer ended
  double end = 0;            ///< its end
  std::vector<double> came;  ///< when each piece of the answer came; a piece is usually one token
};

/// Returns the outcomes. Throws boost::system::system_error with kBadLoad, `part` and the reason
/// where a request failed, because figures of an incompletely served load cannot be compared.
[[nodiscard]] std::vector<Outcome> require_served(std::vector<Outcome> outcomes,
                                                  std::string_view part);

/// The distribution of one quantity; all 0 where nothing was measured.
struct Spread {
  std::size_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;

  [[nodiscard]] static Spread of(std::vector<double> values);
};

/// The limits that a good request keeps. Seconds; 0 = no limit.
struct Slo {
  double first_token = 0;
  double per_token = 0;  ///< time per output token
  double whole = 0;

  [[nodiscard]] bool is_set() const noexcept {
    return first_token > 0 || per_token > 0 || whole > 0;
  }
};

/// The figures of a load, in seconds and tokens. Failed requests count only in `errors`.
struct Summary {
  std::size_t asked = 0;
  std::size_t done = 0;
  std::map<std::string, std::size_t> errors;
  double seconds = 0;  ///< from the beginning to the last request's end
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  Spread first_token;  ///< TTFT
  Spread between;      ///< inter-token times: from one piece of an answer to the next
  Spread per_token;    ///< TPOT: (end - first token) / (output tokens - 1), of two tokens or more
  Spread whole;        ///< end-to-end
  Spread normalized;   ///< end-to-end / output tokens (Orca, section 6.2; vLLM, section 6.1)
  double good = 0;     ///< share of all requests that kept the Slo; without an Slo, of all that
                       ///< succeeded

  [[nodiscard]] double requests_per_second() const noexcept;
  [[nodiscard]] double tokens_per_second() const noexcept;  ///< output tokens a second
  [[nodiscard]] double goodput() const noexcept;            ///< good requests a second
};
[[nodiscard]] Summary summarize(const std::vector<Outcome>& outcomes, const Slo& slo = {});

/// The times of one finished request. `outcome` did not fail.
[[nodiscard]] double first_token_of(const Outcome& outcome) noexcept;
[[nodiscard]] double per_token_of(const Outcome& outcome) noexcept;  ///< 0 below two tokens
[[nodiscard]] double normalized_of(const Outcome& outcome) noexcept;

}  // namespace weft::measure
