#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// How a server can fail to begin, and a client to reach one.
enum class NetErrc {
  /// The address is not to be had; the detail has it and the reason.
  kCannotListen = 1,
  /// Certificate or key cannot be used; the detail has the file and the reason.
  kBadCertificate,
  /// What is to be a server's URL is none; the detail says why.
  kBadUrl,
  /// The server's name, address or certificate is no good, or nobody listens there.
  kCannotConnect,
  /// The server did not want the connection; the detail has its words.
  kRefused,
  /// The connection ended before the answer had come.
  kLost,
  /// The answer had not come whole in the time that it was given.
  kTimeout,
  /// What came is not what HTTP or the API says; the detail has why.
  kBadAnswer,
};

[[nodiscard]] const TableCategory& net_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(NetErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::NetErrc> : std::true_type {};
