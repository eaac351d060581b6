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

/// PEM files with which processes of one model encrypt their messages. All empty: no encryption.
struct RankTlsFiles {
  std::string certificate{};  ///< certificate with its chain
  std::string key{};          ///< the certificate's private key
  /// Authority of the others' certificates; empty: they use the same certificate.
  std::string authority{};

  [[nodiscard]] bool are_set() const noexcept { return !certificate.empty(); }
};

/// One connection's encryption, TLS 1.3, over bytes that the caller moves. Thread-safe: one thread
/// may seal while another opens. Each call appends to its output.
class RankCipher {
 public:
  RankCipher(const RankCipher&) = delete;
  RankCipher& operator=(const RankCipher&) = delete;
  ~RankCipher();

  /// Continues the greeting with the other side's bytes, and writes the bytes for the other side to
  /// `answer`, on failure too. Returns true when both have greeted; kRankLost with the reason.
  [[nodiscard]] Result<bool> greet(std::span<const std::byte> wire, std::vector<std::byte>& answer);

  [[nodiscard]] Result<void> seal(std::span<const std::byte> plain, std::vector<std::byte>& wire);
  /// Decrypts bytes. kRankLost for bytes that the other side did not seal, and after the other side
  /// has closed.
  [[nodiscard]] Result<void> open(std::span<const std::byte> wire, std::vector<std::byte>& plain);

  using Binding = std::array<std::byte, 32>;
  /// Returns a secret of the two ends of this connection (RFC 5705, 8446 section 7.5). An answer
  /// that includes it is invalid on another connection. Call it after the greeting.
  [[nodiscard]] Binding binding();

 private:
  friend class RankTls;
  explicit RankCipher(ssl_st* session) noexcept : session_(session) {}
  void take_out(std::vector<std::byte>& wire);

  std::mutex mutex_;
  ssl_st* const session_;
};

/// The context for encrypted connections. Both sides show a certificate and check the other's.
class RankTls {
 public:
  /// Returns null if no files are set. DeviceErrc::kUnfit naming the file and its error.
  [[nodiscard]] static Result<std::shared_ptr<const RankTls>> load(const RankTlsFiles& files);

  RankTls(const RankTls&) = delete;
  RankTls& operator=(const RankTls&) = delete;
  ~RankTls();

  /// Makes the cipher of a connection that this process has accepted, or else has begun.
  [[nodiscard]] std::unique_ptr<RankCipher> cipher(bool accepted) const;

 private:
  explicit RankTls(ssl_ctx_st* context) noexcept : context_(context) {}

  ssl_ctx_st* const context_;
};

}  // namespace weft
