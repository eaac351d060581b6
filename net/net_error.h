#pragma once

#include "weft/core/error.h"

namespace weft {

/// How a server can fail to begin.
enum class NetErrc {
  /// The address is not to be had; the detail has it and the reason.
  kCannotListen = 1,
  /// Certificate or key cannot be used; the detail has the file and the reason.
  kBadCertificate,
};

[[nodiscard]] const TableCategory& net_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(NetErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::NetErrc> : std::true_type {};
