#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "weft/core/error/error.h"

struct ssl_ctx_st;
struct ssl_st;

namespace weft {

/// PEM files by which processes of one model encrypt their messages. All empty: they do not
/// encrypt.
struct RankTlsFiles {
  std::string certificate{};  ///< with its chain
  std::string key{};          ///< its private key
  std::string authority{};    ///< that the others' are of; empty: theirs are the same as this one

  [[nodiscard]] bool are_set() const noexcept { return !certificate.empty(); }
};

/// One connection's encryption, TLS 1.3, over bytes that the caller moves. Thread-safe: one thread
/// may seal while another opens. Each call appends to what it is handed.
class RankCipher {
 public:
  RankCipher(const RankCipher&) = delete;
  RankCipher& operator=(const RankCipher&) = delete;
  ~RankCipher();

  /// Continues the greeting with the other side's bytes, and puts the bytes to send it into
  /// `answer`, on failure too. True when both have greeted; kRankLost with the reason.
  [[nodiscard]] Result<bool> greet(std::span<const std::byte> wire, std::vector<std::byte>& answer);

  [[nodiscard]] Result<void> seal(std::span<const std::byte> plain, std::vector<std::byte>& wire);
  /// Decrypts bytes. kRankLost for bytes that the other side did not seal, and after its end.
  [[nodiscard]] Result<void> open(std::span<const std::byte> wire, std::vector<std::byte>& plain);

  using Binding = std::array<std::byte, 32>;
  /// What only the two ends of this connection know (RFC 5705, 8446 section 7.5): an answer that
  /// has it in is worth nothing on another connection. After the greeting.
  [[nodiscard]] Binding binding();

 private:
  friend class RankTls;
  explicit RankCipher(ssl_st* session) noexcept : session_(session) {}
  void take_out(std::vector<std::byte>& wire);

  std::mutex mutex_;
  ssl_st* const session_;
};

/// What connections are encrypted with. Both sides show a certificate and check the other's.
class RankTls {
 public:
  /// Null where no files are set. DeviceErrc::kUnfit naming the file and what is wrong with it.
  [[nodiscard]] static Result<std::shared_ptr<const RankTls>> load(const RankTlsFiles& files);

  RankTls(const RankTls&) = delete;
  RankTls& operator=(const RankTls&) = delete;
  ~RankTls();

  /// For a connection that this process has accepted, or begun.
  [[nodiscard]] std::unique_ptr<RankCipher> cipher(bool accepted) const;

 private:
  explicit RankTls(ssl_ctx_st* context) noexcept : context_(context) {}

  ssl_ctx_st* const context_;
};

}  // namespace weft
