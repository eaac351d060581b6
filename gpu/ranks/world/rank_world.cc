#include "weft/gpu/ranks/world/rank_world.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/rank_link.h"

namespace weft {
namespace {

/// A launcher's names of variables; null: it does not set one.
struct Launcher {
  const char* rank = nullptr;
  const char* size = nullptr;
  const char* address = nullptr;
};

// Launchers that set more variables come first, because srun also starts mpirun's processes.
constexpr std::array kLaunchers = {
    Launcher{"RANK", "WORLD_SIZE", "MASTER_ADDR"},
    Launcher{"LWS_WORKER_INDEX", "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS"},
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    Launcher{"PMI_RANK", "PMI_SIZE", nullptr},
    Launcher{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LAUNCH_NODE_IPADDR"},
};

constexpr const char* kDefaultPort = "29500";

Result<std::int32_t> number_of(const Environment& environment, const char* name,
                               std::int32_t most) {
  const std::string text = environment(name).value_or("");
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0 && number <= most) {
    return number;
  }
  return Error{DeviceErrc::kUnfit, std::string(name) + "='" + text + "' is no number from 0 to " +
                                       std::to_string(most)};
}

}  // namespace

bool is_on_loopback(const RankWorld& world) {
  return world.address.starts_with("127.") || world.address.starts_with("localhost:") ||
         world.address.starts_with("[::1]:");
}

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): at start-up
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

Result<RankWorld> rank_world_of(const Environment& environment) {
  RankWorld world;
  for (const Launcher& launcher : kLaunchers) {
    if (!environment(launcher.rank) || !environment(launcher.size)) continue;
    const auto size = number_of(environment, launcher.size, static_cast<std::int32_t>(kMostRanks));
    if (!size) return size.error();
    if (*size < 2) return world;
    const auto rank = number_of(environment, launcher.rank, *size - 1);
    if (!rank) return rank.error();
    world.rank = *rank;
    world.size = *size;
    std::optional<std::string> host = environment("MASTER_ADDR");
    if (!host && launcher.address != nullptr) host = environment(launcher.address);
    world.address =
        host.value_or("127.0.0.1") + ":" + environment("MASTER_PORT").value_or(kDefaultPort);
    return world;
  }
  return world;
}

}  // namespace weft
