#include "weft/measure/server/client_error.h"

#include "weft/net/net_error.h"

namespace weft::measure {

std::string_view kind_of(const Error& error) noexcept {
  if (error.code == NetErrc::kCannotConnect) return "cannot connect";
  if (error.code == NetErrc::kRefused) return "refused";
  if (error.code == NetErrc::kTimeout) return "timeout";
  if (error.code == NetErrc::kBadAnswer) return "bad answer";
  return "lost";
}

}  // namespace weft::measure
