#include "weft/gpu/ranks/world/rank_mesh.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/gpu/device_error.h"
#include "weft/gpu/ranks/world/handshake.h"
#include "weft/gpu/ranks/world/rank_door.h"

namespace weft {
namespace {

Error not_met(std::size_t process, const std::string& why) {
  return {DeviceErrc::kRankLost, "meeting process " + std::to_string(process) + ": " + why};
}

Error nobody_met(const std::stop_token& lost) {
  return {DeviceErrc::kRankLost, lost.stop_requested() ? "another rank of the model was lost"
                                                       : "nobody has connected for too long"};
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
  // Each process first connects to the processes before it, then accepts the ones after it. Process
  // 0 accepts at once. So each process is answered by all earlier ones, in order, and the waits
  // form no cycle.
  for (std::size_t process = 0; process < own; ++process) {
    const auto descriptor =
        RankSocket::connect(addresses[process], static_cast<int>(world.timeout.count()), lost);
    if (!descriptor) return not_met(process, descriptor.error().detail);
    auto socket = std::make_unique<RankSocket>(*descriptor);
    const std::stop_callback on_loss(lost, [one = socket.get()] { one->shut_down(); });
    if (auto greeted = greet_head(*socket, world, tls->get()); !greeted) {
      return not_met(process, greeted.error().detail);
    }
    all[process] = std::move(socket);
  }
  const auto end = std::chrono::steady_clock::now() + world.gathering;
  RankDoor door(listener_, world, tls->get());
  for (std::size_t missing = all.size() - own - 1; missing > 0;) {
    auto guest = door.wait_for_next(end, lost);
    if (!guest) return guest.error();
    if (!*guest) return nobody_met(lost);
    const auto rank = static_cast<std::size_t>((*guest)->rank);
    if (rank <= own || all[rank]) continue;
    all[rank] = std::move((*guest)->socket);
    --missing;
  }
  return all;
}

}  // namespace weft
