#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_setup.h"
#include "weft/gpu/ranks/world/rank_stop.h"
#include "weft/gpu/ranks/world/rank_world.h"
#include "weft/gpu/step_device.h"

namespace weft {

/// The head's requests that a rank's process answers, one after the other.
class RankLoader {
 public:
  RankLoader() = default;
  RankLoader(const RankLoader&) = delete;
  RankLoader& operator=(const RankLoader&) = delete;
  virtual ~RankLoader() = default;

  /// Returns this rank's room. `own_host` is where other ranks reach it, from
  /// RankSocket::own_host().
  [[nodiscard]] virtual Result<RankRoom> room(const RankQuestion& question,
                                              const std::string& own_host) = 0;
  /// Loads the head's setup, on its own thread. `lost` is asked to stop when another rank is lost;
  /// then the call waits for no rank any more.
  [[nodiscard]] virtual Result<std::unique_ptr<StepDevice>> load(const RankSetup& setup,
                                                                 const std::stop_token& lost) = 0;
};

/// Runs a process that is only a rank: connects to the head, loads its part, and runs plans until
/// the head ends. Blocks meanwhile. Returns when the head has said goodbye, or soon after a stop
/// was requested. kRankLost if the head is gone or silent, or if this rank has failed; errors of
/// loading, which the head is told; errors of check_rank_key().
[[nodiscard]] Result<void> run_rank(const RankWorld& world, RankLoader& loader,
                                    const RankStop& stop = {});

}  // namespace weft
