#include "weft/config/replicas_text.h"

#include <charconv>
#include <cstddef>
#include <string_view>

#include "weft/core/text/trimmed.h"

namespace weft {
namespace {

// More than a machine has GPUs; each replica has some ten threads.
constexpr std::size_t kMostReplicas = 64;

std::optional<std::size_t> as_number(std::string_view text) {
  std::size_t number = 0;
  const auto [stop, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc{} || stop != text.end()) return std::nullopt;
  return number;
}

/// Every device's name begins with a letter; a mistyped number does not.
bool begins_with_letter(std::string_view text) {
  return !text.empty() && ((text.front() >= 'a' && text.front() <= 'z') ||
                           (text.front() >= 'A' && text.front() <= 'Z'));
}

}  // namespace

bool lists_replicas(const Config& config) { return !as_number(config.replicas); }

std::optional<std::vector<std::string>> replica_devices(const Config& config) {
  if (const auto number = as_number(config.replicas)) {
    if (*number < 1 || *number > kMostReplicas) return std::nullopt;
    return std::vector(*number, config.partition.empty() ? config.device : config.partition);
  }
  std::vector<std::string> devices;
  for (std::string_view rest = config.replicas;;) {
    const auto end = rest.find(';');
    devices.emplace_back(trimmed(rest.substr(0, end)));
    if (!begins_with_letter(devices.back()) || devices.size() > kMostReplicas) return std::nullopt;
    if (end == std::string_view::npos) return devices;
    rest.remove_prefix(end + 1);
  }
}

std::string replica_devices_text(const Config& config) {
  std::string text;
  for (const std::string& device : replica_devices(config).value_or(std::vector<std::string>())) {
    text.append(text.empty() ? "" : "; ").append(device);
  }
  return text;
}

std::string replicas_range() {
  return "1 .. " + std::to_string(kMostReplicas) + ", or devices between semicolons";
}

}  // namespace weft
