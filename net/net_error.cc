#include "weft/net/net_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kNetErrors = {
    ErrorText{static_cast<int>(NetErrc::kCannotListen), "cannot_listen", "cannot listen there"},
    ErrorText{static_cast<int>(NetErrc::kBadCertificate), "bad_certificate",
              "the certificate or its key cannot be used"},
    ErrorText{static_cast<int>(NetErrc::kBadUrl), "bad_url", "this is no server's URL"},
    ErrorText{static_cast<int>(NetErrc::kCannotConnect), "cannot_connect", "cannot connect"},
    ErrorText{static_cast<int>(NetErrc::kRefused), "refused", "the server has refused"},
    ErrorText{static_cast<int>(NetErrc::kLost), "connection_lost", "the connection was lost"},
    ErrorText{static_cast<int>(NetErrc::kTimeout), "timeout", "no answer in time"},
    ErrorText{static_cast<int>(NetErrc::kBadAnswer), "bad_answer",
              "the server's answer cannot be understood"},
};

constexpr TableCategory kNetCategory(0x1f83d9abfb41bd6b, "weft.net", kNetErrors);

}  // namespace

const TableCategory& net_category() noexcept { return kNetCategory; }

boost::system::error_code make_error_code(NetErrc code) noexcept {
  return {static_cast<int>(code), net_category()};
}

}  // namespace weft
