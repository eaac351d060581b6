#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/gpu/ranks/world/rank_tls.h"

namespace weft {

/// The kinds of messages between processes of one model.
enum class RankMessage : std::uint32_t {
  kHello = 1,  ///< rank -> head: protocol, the rank's number, a challenge
  kProof,      ///< both ways: the answer to the other's challenge
  kAsk,        ///< head -> rank: encode_question()
  kRoom,       ///< rank -> head: encode_room()
  kSetup,      ///< head -> rank: encode_setup(): what to load
  kReady,      ///< rank -> head: it has loaded
  kPlan,       ///< head -> rank: encode_plan()
  kDone,       ///< rank -> head: the plan has run; how long it took
  kFailed,     ///< rank -> head: the reason of its failure
  kBeat,       ///< both ways: the sender is alive
  kBye,        ///< head -> rank: it ends in good order
  // Between ranks on the host that exchange numbers over the network:
  kNumbers,  ///< floats: a part of a sum, or columns
  kStream,   ///< floats, to the next stage
  kTokens,   ///< SlotTokens
};

/// A received message; the payload is borrowed until the next one.
struct RankFrame {
  RankMessage kind = RankMessage::kBeat;
  std::span<const std::byte> payload;
};

/// A connection between two processes of one model: messages with a kind and a length over TCP, or
/// over TLS on it. Several threads may call send(); one thread at a time receives.
class RankSocket {
 public:
  /// The most bytes of a message: a plan with the whole histories of all rows has some MiB.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20U;

  explicit RankSocket(int descriptor) noexcept : descriptor_(descriptor) {}
  RankSocket(const RankSocket&) = delete;
  RankSocket& operator=(const RankSocket&) = delete;
  ~RankSocket();

  /// Encrypts the connection from now on. Call it before any message. `accepted`: the other side
  /// has connected to this one. kRankLost naming what the other side lacks.
  [[nodiscard]] Result<void> encrypt(const RankTls& tls, bool accepted, int milliseconds);
  /// Returns RankCipher::binding() of an encrypted connection; else nothing.
  [[nodiscard]] std::span<const std::byte> binding() const noexcept;

  /// DeviceErrc::kRankLost if the other side is gone.
  [[nodiscard]] Result<void> send(RankMessage kind, std::span<const std::byte> payload = {});

  /// Waits up to `milliseconds` for a whole message. kRankLost if the other side is gone, is silent
  /// for that time, or sends bytes that are no message or a message longer than `most` bytes.
  [[nodiscard]] Result<RankFrame> receive(int milliseconds, std::uint64_t most = kMostBytes);

  /// Returns a message if a whole one is there. Returns none otherwise; then the caller can wait
  /// for descriptor().
  [[nodiscard]] Result<std::optional<RankFrame>> poll(std::uint64_t most = kMostBytes);

  /// Appends to `wire` the bytes that send() would write.
  [[nodiscard]] Result<void> seal(RankMessage kind, std::span<const std::byte> payload,
                                  std::vector<std::byte>& wire);
  /// Writes as many sealed bytes as it can at once, and returns their number. kRankLost.
  [[nodiscard]] Result<std::size_t> write_some(std::span<const std::byte> wire) const;

  /// Ends all waits here and at the other side. Any thread.
  void shut_down() const noexcept;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Return this end's and the other end's address in numbers, without the port.
  [[nodiscard]] std::string own_host() const;
  [[nodiscard]] std::string other_host() const;

  /// Waits up to `milliseconds` for a process that listens at `address` (numbers or a name, ":", a
  /// port), or until a stop is requested. kRankLost.
  [[nodiscard]] static Result<int> connect(const std::string& address, int milliseconds,
                                           const std::stop_token& stop = {});

 private:
  [[nodiscard]] Result<std::optional<RankFrame>> next_frame(std::uint64_t most);
  [[nodiscard]] Result<std::size_t> read_some();
  [[nodiscard]] Result<void> write_all(std::span<const std::byte> bytes) const;

  const int descriptor_;
  std::unique_ptr<RankCipher> cipher_;
  RankCipher::Binding binding_{};
  std::mutex sending_;
  std::vector<std::byte> sealed_;  // guarded by sending_
  std::vector<std::byte> wire_;    // received bytes of an encrypted connection
  // Received messages; next: how many of these bytes were given out.
  std::vector<std::byte> unread_;
  std::size_t taken_ = 0;
};

/// Sends kBeat regularly, so that the other side knows that this process is alive.
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

  /// Waits for the next connection; returns none if none came within the time. kRankLost if no
  /// connection can come.
  [[nodiscard]] Result<std::optional<int>> accept(int milliseconds) const;
  [[nodiscard]] std::uint16_t port() const;
  /// Returns the address in numbers and the port, for RankSocket::connect().
  [[nodiscard]] std::string address() const;

 private:
  explicit RankListener(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace weft
