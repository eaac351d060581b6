#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "weft/core/time/clock.h"
#include "weft/core/token.h"
#include "weft/measure/load/load.h"
#include "weft/measure/load/outcome.h"

namespace weft {
class Pipeline;
}

namespace weft::measure {

/// Options of playing a load; the functions are called on the thread that plays it.
struct PlayOptions {
  /// Called a few times a second with the number of ended requests and of all requests.
  std::function<void(std::size_t done, std::size_t of)> progress{};
  /// When it becomes true, running requests are cancelled and the others are left out.
  const std::atomic<bool>* stop = nullptr;
  /// Stops in the same way after this many seconds of the load; 0 = never.
  double seconds = 0;
};

/// Sends loads to a pipeline. Prompts are drawn, and no two are alike beyond Load::shared. Outputs
/// are greedy and have exactly the requested length. One thread at a time.
class LoadPlayer {
 public:
  /// `pipeline` must outlive the player.
  LoadPlayer(Pipeline& pipeline, std::uint64_t seed);

  /// Sends each request at its time, even if earlier ones have not ended, and waits for all. The
  /// outcomes are in the order of the arrivals; stopped requests have none.
  [[nodiscard]] std::vector<Outcome> play(const Load& load, const PlayOptions& options = {});

  /// Returns when the last played load began.
  [[nodiscard]] TimePoint began() const noexcept { return began_; }

 private:
  std::vector<TokenId> draw_prompt(std::int32_t length, double shared);

  Pipeline& pipeline_;
  std::mt19937_64 random_;
  std::vector<TokenId> tokens_;  // the tokens from which prompts are drawn
  std::vector<TokenId> common_;  // the beginning that all prompts share
  TimePoint began_{};
};

}  // namespace weft::measure
