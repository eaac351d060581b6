#include "weft/net/net_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kNetErrors = {
    ErrorText{static_cast<int>(NetErrc::kCannotListen), "cannot_listen", "cannot listen there"},
    ErrorText{static_cast<int>(NetErrc::kBadCertificate), "bad_certificate",
              "the certificate or its key cannot be used"},
};

constexpr TableCategory kNetCategory(0x1f83d9abfb41bd6b, "weft.net", kNetErrors);

}  // namespace

const TableCategory& net_category() noexcept { return kNetCategory; }

boost::system::error_code make_error_code(NetErrc code) noexcept {
  return {static_cast<int>(code), net_category()};
}

}  // namespace weft
