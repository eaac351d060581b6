#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/error/error.h"

namespace weft {

/// What a message between processes of one model is.
enum class RankMessage : std::uint32_t {
  kHello = 1,  ///< rank -> head: protocol, the rank's number, a challenge
  kProof,      ///< both ways: the answer to the other's challenge
  kSetup,      ///< head -> rank: what it is to load
  kReady,      ///< rank -> head: it has loaded
  kPlan,       ///< head -> rank: encode_plan()
  kDone,       ///< rank -> head: the plan has run; how long it took
  kFailed,     ///< rank -> head: its last words
  kBeat,       ///< both ways: alive
  kBye,        ///< head -> rank: it ends in good order
};

/// A received message; the payload is borrowed until the next one.
struct RankFrame {
  RankMessage kind = RankMessage::kBeat;
  std::span<const std::byte> payload;
};

/// A connection between two processes of one model: messages of a kind and a length over TCP.
/// send() may be called by several threads; receive() by one.
class RankSocket {
 public:
  /// Of a message: a plan with the whole histories of all rows is some MiB.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20U;

  explicit RankSocket(int descriptor) noexcept : descriptor_(descriptor) {}
  RankSocket(const RankSocket&) = delete;
  RankSocket& operator=(const RankSocket&) = delete;
  ~RankSocket();

  /// DeviceErrc::kRankLost when the other side is gone.
  [[nodiscard]] Result<void> send(RankMessage kind, std::span<const std::byte> payload = {});

  /// Waits up to `milliseconds` for a whole message. kRankLost when the other side is gone, is
  /// silent for so long, or sends what is no message or is longer than `most` bytes.
  [[nodiscard]] Result<RankFrame> receive(int milliseconds, std::uint64_t most = kMostBytes);

  /// Ends what waits here and at the other side. Any thread.
  void shut_down() const noexcept;

  /// Waits up to `milliseconds` for one that listens there (numbers or a name, ":", a port).
  [[nodiscard]] static Result<int> connect(const std::string& address, int milliseconds);

 private:
  const int descriptor_;
  std::mutex sending_;
  std::vector<std::byte> received_;
};

/// Sends kBeat now and then, so that the other side knows that this process lives.
class RankDrum {
 public:
  RankDrum(RankSocket& socket, std::chrono::milliseconds between);

 private:
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread thread_;
};

/// A socket that other processes connect to.
class RankListener {
 public:
  /// DeviceErrc::kRankLost naming the address and the reason.
  [[nodiscard]] static Result<RankListener> open(const std::string& address);

  RankListener(RankListener&& other) noexcept;
  RankListener& operator=(RankListener&&) = delete;
  RankListener(const RankListener&) = delete;
  ~RankListener();

  /// Waits for the next connection; kRankLost when there is none for so long.
  [[nodiscard]] Result<int> accept(int milliseconds) const;
  [[nodiscard]] std::uint16_t port() const;

 private:
  explicit RankListener(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace weft
