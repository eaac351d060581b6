#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// Errors of starting a server, and of reaching one as a client.
enum class NetErrc {
  /// The address is not available; the detail has it and the reason.
  kCannotListen = 1,
  /// Certificate or key cannot be used; the detail has the file and the reason.
  kBadCertificate,
  /// A server's URL is not valid; the detail says why.
  kBadUrl,
  /// The server's name, address or certificate is not valid, or no server listens there.
  kCannotConnect,
  /// The server refused the connection; the detail has its words.
  kRefused,
  /// The connection ended before the answer had come.
  kLost,
  /// The answer was not complete within its time.
  kTimeout,
  /// The answer is not what HTTP or the API says; the detail says why.
  kBadAnswer,
};

[[nodiscard]] const TableCategory& net_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(NetErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::NetErrc> : std::true_type {};
