#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_socket.h"
#include "weft/gpu/ranks/world/rank_world.h"

namespace weft {

/// Accepts the connections of ranks. Each connection is greeted on its own thread, so a silent
/// client delays no rank. Owner only.
class RankDoor {
 public:
  /// The most simultaneous greetings: every rank's, and as many of strangers. One more closes the
  /// oldest greeting, which has had the most time.
  static constexpr std::size_t kMostGreetings = 128;

  /// A rank that has proved that it has the key.
  struct Guest {
    std::int32_t rank = 0;
    std::unique_ptr<RankSocket> socket{};
  };

  /// All arguments are borrowed; `tls` may be null.
  RankDoor(const RankListener& listener, const RankWorld& world, const RankTls* tls);
  RankDoor(const RankDoor&) = delete;
  RankDoor& operator=(const RankDoor&) = delete;
  /// Closes the connections that are still being greeted.
  ~RankDoor();

  /// Waits for the next rank. Returns none at `end`, or when a stop is requested. kRankLost if no
  /// connection can be accepted any more.
  [[nodiscard]] Result<std::optional<Guest>> wait_for_next(
      std::chrono::steady_clock::time_point end, const std::stop_token& stop);

  /// Returns why the last connection was refused; empty if none was.
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

 private:
  struct Greeting {
    std::unique_ptr<RankSocket> socket;
    std::optional<Result<std::int32_t>> ended{};  // guarded by mutex_: its rank, or why it is none
    std::jthread thread{};                        // last, because it uses the other members
  };

  void greet(int descriptor);
  void send_oldest_away();
  [[nodiscard]] std::optional<Guest> take_guest();

  const RankListener& listener_;
  const RankWorld& world_;
  const RankTls* const tls_;
  std::string refusal_;
  std::mutex mutex_;
  std::list<Greeting> greetings_;  // the oldest first
};

}  // namespace weft
