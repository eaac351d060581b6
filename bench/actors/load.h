#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/actors/pipeline.h"
#include "weft/core/request_class.h"
#include "weft/core/time/clock.h"

namespace weft::bench {

/// A virtual user's request and when it comes.
struct Arrival {
  double at = 0;  ///< seconds from the beginning
  std::int32_t prompt = 1;
  std::int32_t output = 1;
  RequestClass cls = RequestClass::kChat;
};

/// What became of it. Times are in seconds from its arrival.
struct Outcome {
  RequestClass cls = RequestClass::kChat;
  std::int32_t tokens = 0;
  std::string error;            ///< why it failed; empty: it did not
  double first = 0;             ///< its first token
  double last = 0;              ///< its end
  double ended_at = 0;          ///< its end, from the beginning
  std::vector<double> between;  ///< inter-token times
};

/// How many and how long, evenly spread from the first number to the second.
struct LoadShape {
  double per_second = 1;
  double seconds = 1;
  std::int32_t prompt_from = 1, prompt_to = 1;
  std::int32_t output_from = 1, output_to = 1;
  RequestClass cls = RequestClass::kChat;
};

/// A Poisson process; ends with its time or after `most` of them.
[[nodiscard]] std::vector<Arrival> poisson(const LoadShape& shape, std::uint64_t seed,
                                           std::size_t most = SIZE_MAX);
/// Both, in the order of their times.
[[nodiscard]] std::vector<Arrival> merge(const std::vector<Arrival>& one,
                                         const std::vector<Arrival>& other);

/// Sends each request at its time, whatever became of those before it, and waits until all have
/// ended. Outputs have exactly the length asked for.
[[nodiscard]] std::vector<Outcome> play(Pipeline& pipeline, const std::vector<Arrival>& arrivals);
/// The same until `seconds` have passed; what has not ended then is cancelled and left out.
[[nodiscard]] std::vector<Outcome> play_for(Pipeline& pipeline,
                                            const std::vector<Arrival>& arrivals, double seconds);

/// Of the outcomes of a class that did not fail.
[[nodiscard]] std::vector<double> first_token_times(const std::vector<Outcome>& outcomes,
                                                    RequestClass cls);
[[nodiscard]] std::vector<double> latencies(const std::vector<Outcome>& outcomes);
[[nodiscard]] std::int64_t tokens_of(const std::vector<Outcome>& outcomes, RequestClass cls);

}  // namespace weft::bench
