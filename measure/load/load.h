#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/request_class.h"

namespace weft::measure {

/// One request of a load: when it comes and how long it is.
struct Arrival {
  double at = 0;            ///< seconds from the load's beginning
  std::int32_t prompt = 1;  ///< tokens
  std::int32_t output = 1;  ///< tokens; exactly so many are asked for
  RequestClass cls = RequestClass::kChat;
};

/// The requests that a server or an engine is measured with.
struct Load {
  std::vector<Arrival> arrivals;  ///< in the order of their times
  /// At most this many requests are under way; requests that come meanwhile wait in their client. 0
  /// = no bound. With all arrivals at 0 it is a closed loop of this many users.
  std::int32_t at_once = 0;
  /// The share of each prompt, from its beginning, that all prompts have in common; 0 .. 1. Used
  /// only where a load is played on an engine.
  double shared = 0;
};

/// The number of tokens of prompts or outputs.
struct Lengths {
  enum class Kind : std::uint8_t {
    kFixed,    ///< always `low`
    kUniform,  ///< evenly from `low` to `high`
    /// Lengths as people write them: many short ones and a long tail. Log-normal with sigma 1, cut
    /// to low..high, and with the mean `mean` after the cut.
    kSkewed,
  };
  Kind kind = Kind::kFixed;
  std::int32_t low = 128;
  std::int32_t high = 128;
  double mean = 128;

  /// Reads "128", "8..64", "mean:161" or "mean:161..1024" (tokens; at most 1024 for "mean:161").
  /// kBadLoad names the mistake.
  [[nodiscard]] static Result<Lengths> parse(std::string_view text);
  friend bool operator==(const Lengths&, const Lengths&) = default;
};
[[nodiscard]] std::string to_string(const Lengths& lengths);

/// The process of arrivals.
enum class Process : std::uint8_t {
  kAtOnce,    ///< all requests at the beginning
  kConstant,  ///< equal intervals
  kPoisson,   ///< independent arrivals
  kBursty,    ///< gamma-distributed intervals: in clusters, with pauses between
};

/// A load that is drawn from distributions.
struct LoadShape {
  Process process = Process::kPoisson;
  double per_second = 1;     ///< requests a second; kAtOnce ignores it
  double burstiness = 0.25;  ///< the gamma distribution's shape: 1 = Poisson, less = in clusters
  std::size_t requests = 32;
  Lengths prompt{};
  Lengths output{};
  RequestClass cls = RequestClass::kChat;
};

/// Draws a load's arrivals; equal seeds give equal arrivals. The first comes at 0, so a load of n
/// requests spans n - 1 intervals. Lengths of prompts and outputs are drawn from separate random
/// streams, so another rate does not change them.
[[nodiscard]] std::vector<Arrival> draw(const LoadShape& shape, std::uint64_t seed);

/// Returns the arrivals of both loads in the order of their times.
[[nodiscard]] std::vector<Arrival> merge(const std::vector<Arrival>& one,
                                         const std::vector<Arrival>& other);

}  // namespace weft::measure
