#pragma once

#include <string>

#include "weft/config/keys/config_schema.h"

/// Functions that config_setting.cc and setting_text.cc share.
namespace weft {

/// The time in the units that the key's name ends in.
[[nodiscard]] double time_in_units(const TimeSetting& setting, const FileConfig& config);

/// A value that a setting was given, in words; a long text is cut, a secret one is "...".
[[nodiscard]] std::string shown_value(const Setting& setting, const ConfigValue& value);

}  // namespace weft
