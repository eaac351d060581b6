#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/config/config.h"
#include "weft/gpu/training_work.h"
#include "weft/measure/engine/training_beside.h"
#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/recipe.h"
#include "weft/measure/report/report.h"
#include "weft/measure/steps/step_meter.h"

/// The parts of recipes that measure how much load a device sustains.
namespace weft::measure {

/// The prompts and outputs of a kind of requests.
struct RequestLengths {
  Lengths prompt{};
  Lengths output{};

  /// The most tokens that a request may have.
  [[nodiscard]] std::int32_t longest() const noexcept { return prompt.high + output.high; }
};

[[nodiscard]] constexpr Lengths fixed_length(std::int32_t tokens) noexcept {
  return {Lengths::Kind::kFixed, tokens, tokens, static_cast<double>(tokens)};
}
/// "prompts of 8..64 and outputs of mean:12..30 tokens"
[[nodiscard]] std::string lengths_text(const RequestLengths& lengths);
/// Divides every length by `divisor`; at least one token is left.
[[nodiscard]] RequestLengths divided(const RequestLengths& lengths, std::int32_t divisor);

/// Returns the power of two by which a paper's lengths are divided. With it the longest request
/// fits the model's context and, on the host device, an average request alone takes no longer than
/// `seconds`. The proportions, which the experiments are about, do not change. Measures one
/// request; throws as play() does.
[[nodiscard]] std::int32_t length_divisor(const RecipeSetup& setup, const RequestLengths& lengths,
                                          double seconds);

/// Returns the setup, with 32 rows where it does not set them, because the host device gains little
/// from more.
[[nodiscard]] RecipeSetup with_rows(const RecipeSetup& setup);

/// The figures of a closed batch: three times as many requests as rows, all present from the
/// beginning.
struct FullLoad {
  double requests_per_second = 0;  ///< the capacity: with a higher rate the queue grows
  double tokens_per_second = 0;    ///< output tokens a second
  double batch = 0;                ///< mean, while requests still wait
};
[[nodiscard]] FullLoad measure_full_load(const RecipeSetup& setup, const std::string& part,
                                         const Config& config, const RequestLengths& lengths);

/// The figures of one rate of Poisson arrivals.
struct LoadPoint {
  double rate = 0;  ///< offered, requests a second
  Summary summary;
  double batch = 0;  ///< mean_batch()
  std::vector<Arrival> arrivals;
  std::vector<StepRecord> steps;
  TrainingRun training;
};
/// The figures of one way of serving under several rates.
struct LoadCurve {
  std::string name;
  std::vector<LoadPoint> points;  ///< in the order of the rates
};

/// A way of serving that is compared.
struct Contender {
  std::string name;
  Config config;
  std::shared_ptr<TrainingWork> training{};  ///< beside the load; null: none
};

/// Plays each rate for about `seconds`, or for 24 requests where these take longer. The contenders
/// alternate, so that other work of the machine affects all of them. Arrivals have exactly the
/// rate, and all contenders see the same requests at the same times. `part` precedes the names and
/// rates that are reported to the setup.
[[nodiscard]] std::vector<LoadCurve> sweep(const RecipeSetup& setup, const std::string& part,
                                           std::span<const Contender> contenders,
                                           const RequestLengths& lengths,
                                           std::span<const double> rates, double seconds);

/// Throughput or rate against latency.
struct LatencyCurve {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< (requests a second, seconds), by load
};
/// The load that each curve sustains at equal latencies: 2, 3, 5 and 10 times `alone` seconds.
struct AtEqualLatency {
  struct Row {
    double times = 0;                         ///< the latency as a multiple of `alone`
    std::vector<std::optional<double>> most;  ///< largest_within() of each curve
  };
  std::vector<Row> rows;

  AtEqualLatency(const std::vector<LatencyCurve>& curves, double alone);
  /// Says how many times the load of `other` the first curve sustains, at the lowest latency that
  /// both reach.
  [[nodiscard]] std::string finding(const std::vector<LatencyCurve>& curves,
                                    std::size_t other) const;
  [[nodiscard]] Table table(const std::vector<LatencyCurve>& curves, std::string title) const;
  [[nodiscard]] boost::json::array json(const std::vector<LatencyCurve>& curves) const;
};

/// Returns the x up to which a curve of (x, latency), with straight lines between its points, stays
/// at or below `latency`. It is the place where the curve first rises above, or its end. Returns
/// nothing when even the first point is above.
[[nodiscard]] std::optional<double> largest_within(
    const std::vector<std::pair<double, double>>& curve, double latency);

[[nodiscard]] boost::json::object to_json(const LoadPoint& point);
[[nodiscard]] boost::json::object to_json(const FullLoad& load);

}  // namespace weft::measure
