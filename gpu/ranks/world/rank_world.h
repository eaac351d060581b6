#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_tls.h"

namespace weft {

/// The processes that run a model together, one for each rank of its partition, and this process's
/// number. Process 0, the head, has the actors and the server; its rank chooses tokens.
struct RankWorld {
  std::int32_t rank = 0;
  std::int32_t size = 1;
  std::string address = "127.0.0.1:29500";    ///< where the head listens
  std::string key{};                          ///< the key that all must have: take_rank_key()
  bool without_key = false;                   ///< they may connect without a key, on the loopback
  RankTlsFiles tls{};                         ///< empty: nothing is encrypted
  std::chrono::milliseconds timeout{10'000};  ///< the silence after which a process counts as lost
  /// All processes must start within this time.
  std::chrono::milliseconds gathering{60'000};
  /// Whether ranks on the host exchange numbers over TCP. Empty: they do so only if they do not all
  /// see the same memory.
  std::optional<bool> by_network{};

  [[nodiscard]] bool is_alone() const noexcept { return size == 1; }
};

/// Whether the head listens only for processes on its machine.
[[nodiscard]] bool is_on_loopback(const RankWorld& world);

/// Reads a variable of the environment; returns none if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] Environment process_environment();

/// Returns this process's world from a launcher's variables: torchrun's RANK, WORLD_SIZE,
/// MASTER_ADDR and MASTER_PORT; mpirun's OMPI_COMM_WORLD_RANK and _SIZE; MPICH's PMI_RANK and
/// PMI_SIZE; srun's SLURM_PROCID, SLURM_NTASKS and SLURM_LAUNCH_NODE_IPADDR; Kubernetes'
/// LWS_WORKER_INDEX, LWS_GROUP_SIZE and LWS_LEADER_ADDRESS. The world has no key yet. Without any
/// variable the process is alone. DeviceErrc::kUnfit naming a variable that is no number or out of
/// range.
[[nodiscard]] Result<RankWorld> rank_world_of(const Environment& environment);

}  // namespace weft
