#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/config/config.h"

/// The text of Config::replicas: how many there are, or the device of each.
namespace weft {

/// Returns the device or partition of each replica: the config's own, as many times as the text's
/// number, or the entries of the text's list. Nothing when the text is neither a valid number of
/// replicas nor a list of at most as many entries, each of which begins with a letter.
[[nodiscard]] std::optional<std::vector<std::string>> replica_devices(const Config& config);

/// Returns replica_devices() as one text, for people: "cuda:0; cuda:1".
[[nodiscard]] std::string replica_devices_text(const Config& config);

/// Whether the text is a list: the config's device and partition mean nothing then.
[[nodiscard]] bool lists_replicas(const Config& config);

/// Returns what people may write: "1 .. 64, or devices between semicolons".
[[nodiscard]] std::string replicas_range();

}  // namespace weft
