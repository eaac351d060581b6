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
  /// How many requests have ended, of how many; a few times a second.
  std::function<void(std::size_t done, std::size_t of)> progress{};
  /// When it becomes true, running requests are cancelled and the others are left out.
  const std::atomic<bool>* stop = nullptr;
  /// Stops in the same way when so many seconds of the load have passed; 0 = never.
  double seconds = 0;
};

/// Sends loads to a pipeline. Prompts are drawn, no two alike beyond Load::shared; outputs have
/// exactly the length asked for and are greedy. One thread at a time.
class LoadPlayer {
 public:
  /// `pipeline` must outlive the player.
  LoadPlayer(Pipeline& pipeline, std::uint64_t seed);

  /// Sends each request at its time, whether earlier ones have ended or not, and waits for all. The
  /// outcomes are in the order of the arrivals; stopped requests have none.
  [[nodiscard]] std::vector<Outcome> play(const Load& load, const PlayOptions& options = {});

  /// The beginning of the load that was played last.
  [[nodiscard]] TimePoint began() const noexcept { return began_; }

 private:
  std::vector<TokenId> draw_prompt(std::int32_t length, double shared);

  Pipeline& pipeline_;
  std::mt19937_64 random_;
  std::vector<TokenId> tokens_;  // the tokens that prompts are made of
  std::vector<TokenId> common_;  // the beginning that all prompts share
  TimePoint began_{};
};

}  // namespace weft::measure
