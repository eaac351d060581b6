#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/net/keys/api_keys.h"

namespace weft {

/// One [[key]] of a key file.
struct KeyFileEntry {
  std::string name{};
  std::string key{};                                      ///< the key itself; if empty, `hash` is
                                                          ///< set
  std::optional<std::array<unsigned char, 32>> sha256{};  ///< the key's hash
  KeyLimits limits{};
};

/// Reads a key file. It must have at least one key, and names must differ. Errors of
/// core/io/file.h; kBadToml, kUnknownConfigKey and kBadConfig, which name file and line.
[[nodiscard]] Result<std::vector<KeyFileEntry>> read_key_file(const std::filesystem::path& file);
[[nodiscard]] Result<std::vector<KeyFileEntry>> parse_key_file(std::string_view toml,
                                                               std::string_view name);

}  // namespace weft
