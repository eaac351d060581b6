#include "weft/config/config_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kConfigErrors = {
    ErrorText{static_cast<int>(ConfigErrc::kBadToml), "bad_toml", "the file is not valid TOML"},
    ErrorText{static_cast<int>(ConfigErrc::kUnknownConfigKey), "unknown_config_key",
              "there is no such key"},
    ErrorText{static_cast<int>(ConfigErrc::kBadConfig), "bad_config",
              "the configuration is not valid"},
};

constexpr TableCategory kConfigCategory(0x6d0be95a0c7e4f13, "weft.config", kConfigErrors);

}  // namespace

const TableCategory& config_category() noexcept { return kConfigCategory; }

boost::system::error_code make_error_code(ConfigErrc code) noexcept {
  return {static_cast<int>(code), config_category()};
}

}  // namespace weft
