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
  kSetup,      ///< head -> rank: encode_setup(): what it is to load
  kReady,      ///< rank -> head: it has loaded
  kPlan,       ///< head -> rank: encode_plan()
  kDone,       ///< rank -> head: the plan has run; how long it took
  kFailed,     ///< rank -> head: its last words
  kBeat,       ///< both ways: alive
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

/// A connection between two processes of one model: messages of a kind and a length over TCP, or
/// over TLS on it. send() may be called by several threads; what receives by one.
class RankSocket {
 public:
  /// Of a message: a plan with the whole histories of all rows is some MiB.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20U;

  explicit RankSocket(int descriptor) noexcept : descriptor_(descriptor) {}
  RankSocket(const RankSocket&) = delete;
  RankSocket& operator=(const RankSocket&) = delete;
  ~RankSocket();

  /// Encrypts the connection from now on; to be called before any message. `accepted`: the other
  /// side began. kRankLost naming what the other side lacks.
  [[nodiscard]] Result<void> encrypt(const RankTls& tls, bool accepted, int milliseconds);
  /// Of an encrypted connection; else nothing.
  [[nodiscard]] std::span<const std::byte> binding() const noexcept;

  /// DeviceErrc::kRankLost when the other side is gone.
  [[nodiscard]] Result<void> send(RankMessage kind, std::span<const std::byte> payload = {});

  /// Waits up to `milliseconds` for a whole message. kRankLost when the other side is gone, is
  /// silent for so long, or sends bytes that are no message or a message longer than `most` bytes.
  [[nodiscard]] Result<RankFrame> receive(int milliseconds, std::uint64_t most = kMostBytes);

  /// A message if a whole one is there. Else none, and then it is worth waiting for descriptor().
  [[nodiscard]] Result<std::optional<RankFrame>> poll(std::uint64_t most = kMostBytes);

  /// Appends to `wire` what send() would write.
  [[nodiscard]] Result<void> seal(RankMessage kind, std::span<const std::byte> payload,
                                  std::vector<std::byte>& wire);
  /// Writes as many of sealed bytes as can be written at once; how many. kRankLost.
  [[nodiscard]] Result<std::size_t> write_some(std::span<const std::byte> wire) const;

  /// Ends what waits here and at the other side. Any thread.
  void shut_down() const noexcept;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Numbers of this end and of the other, as addresses have them, without the port.
  [[nodiscard]] std::string own_host() const;
  [[nodiscard]] std::string other_host() const;

  /// Waits up to `milliseconds` for one that listens there (numbers or a name, ":", a port), or
  /// until a stop is requested. kRankLost.
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
  std::vector<std::byte> sealed_;  // under sending_
  std::vector<std::byte> wire_;    // as it comes, of an encrypted connection
  std::vector<std::byte> unread_;  // of which so many bytes have been given out
  std::size_t taken_ = 0;
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

  /// Waits for the next connection; none: there was none for so long. kRankLost when there can be
  /// none.
  [[nodiscard]] Result<std::optional<int>> accept(int milliseconds) const;
  [[nodiscard]] std::uint16_t port() const;
  /// Numbers and the port, for RankSocket::connect().
  [[nodiscard]] std::string address() const;

 private:
  explicit RankListener(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace weft
