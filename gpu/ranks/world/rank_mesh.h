#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_socket.h"
#include "weft/gpu/ranks/world/rank_world.h"

namespace weft {

/// Connects a process of a world with each other process; over these connections they exchange
/// numbers. The two ends prove that they have the key, and encrypt, as on connections to the head.
class RankMesh {
 public:
  /// Listens on `host` (numbers or a name) at a free port. kRankLost.
  [[nodiscard]] static Result<RankMesh> open(const std::string& host);

  /// Returns ":" and the port.
  [[nodiscard]] std::string port() const { return ":" + std::to_string(listener_.port()); }

  /// Connects to all other processes; all must listen before any of them calls this. `addresses`
  /// and the returned connections are by process; this process's own entry is null. Ends when
  /// `lost` is asked to stop. kRankLost naming the process.
  [[nodiscard]] Result<std::vector<std::unique_ptr<RankSocket>>> connect(
      const RankWorld& world, const std::vector<std::string>& addresses,
      const std::stop_token& lost) const;

 private:
  explicit RankMesh(RankListener listener) : listener_(std::move(listener)) {}

  RankListener listener_;
};

}  // namespace weft
