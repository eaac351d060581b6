#include "weft/gpu/ranks/world/rank_mesh.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/world/handshake.h"

namespace weft {
namespace {

/// Between two looks whether a rank is lost.
constexpr int kLookForLoss = 20;

Error not_met(std::size_t process, const std::string& why) {
  return {DeviceErrc::kRankLost, "meeting process " + std::to_string(process) + ": " + why};
}

/// The next connection, or why there will be none.
Result<int> accept_next(const RankListener& listener, std::chrono::steady_clock::time_point end,
                        const std::stop_token& lost) {
  for (;;) {
    if (lost.stop_requested()) {
      return Error{DeviceErrc::kRankLost, "another rank of the model was lost"};
    }
    auto next = listener.accept(kLookForLoss);
    if (next || std::chrono::steady_clock::now() > end) return next;
  }
}

}  // namespace

Result<RankMesh> RankMesh::open(const std::string& host) {
  auto listener = RankListener::open(host + ":0");
  if (!listener) return listener.error();
  return RankMesh(*std::move(listener));
}

Result<std::vector<std::unique_ptr<RankSocket>>> RankMesh::connect(
    const RankWorld& world, const std::vector<std::string>& addresses,
    const std::stop_token& lost) const {
  const auto tls = RankTls::load(world.tls);
  if (!tls) return tls.error();
  const auto own = static_cast<std::size_t>(world.rank);
  std::vector<std::unique_ptr<RankSocket>> all(addresses.size());
  // Each connects to those before it and then waits for those behind it. The first waits at once;
  // so each is answered by all before it, in their order, and nobody waits in a circle.
  for (std::size_t process = 0; process < own; ++process) {
    const auto descriptor =
        RankSocket::connect(addresses[process], static_cast<int>(world.timeout.count()));
    if (!descriptor) return not_met(process, descriptor.error().detail);
    auto socket = std::make_unique<RankSocket>(*descriptor);
    if (auto greeted = greet_head(*socket, world, tls->get()); !greeted) {
      return not_met(process, greeted.error().detail);
    }
    all[process] = std::move(socket);
  }
  const auto end = std::chrono::steady_clock::now() + world.gathering;
  for (std::size_t missing = all.size() - own - 1; missing > 0;) {
    const auto descriptor = accept_next(listener_, end, lost);
    if (!descriptor) return descriptor.error();
    auto socket = std::make_unique<RankSocket>(*descriptor);
    const auto rank = greet_rank(*socket, world, tls->get());
    // Strangers are sent away.
    if (!rank || *rank <= world.rank || all[static_cast<std::size_t>(*rank)]) continue;
    all[static_cast<std::size_t>(*rank)] = std::move(socket);
    --missing;
  }
  return all;
}

}  // namespace weft
