#include "weft/measure/engine/policy_list.h"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>

#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

/// Returns the number behind the colon; none where there is no colon, kBadLoad where no number
/// follows it.
Result<std::optional<std::int32_t>> number_of(std::string_view part) {
  const auto colon = part.find(':');
  if (colon == std::string_view::npos) return std::optional<std::int32_t>();
  const std::string_view text = part.substr(colon + 1);
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Error{MeasureErrc::kBadLoad, "\"" + std::string(part) + "\": no number after the colon"};
  }
  return std::optional(value);
}

Result<Config> with_policy(Config config, std::string_view part) {
  const std::string_view name = part.substr(0, part.find(':'));
  const auto number = number_of(part);
  if (!number) return number.error();
  if (name == "fusion" && !*number) {
    config.policy = BatchPolicy::kFusion;
  } else if (name == "static" && !*number) {
    config.policy = BatchPolicy::kStatic;
  } else if (name == "window") {
    config.policy = BatchPolicy::kWindow;
    if (*number) config.window = std::chrono::milliseconds(**number);
  } else if (name == "instances") {
    config.policy = BatchPolicy::kInstances;
    if (*number) config.instances = **number;
  } else {
    return Error{MeasureErrc::kBadLoad,
                 "\"" + std::string(part) + "\": there are fusion, window:MS, static, instances:N"};
  }
  const auto valid = config.validate();
  if (!valid)
    return Error{MeasureErrc::kBadLoad, "\"" + std::string(part) + "\": " + valid.error().detail};
  return config;
}

}  // namespace

std::string policy_text(const Config& config) {
  switch (config.policy) {
    case BatchPolicy::kFusion:
      return "fusion";
    case BatchPolicy::kWindow:
      return "window:" + std::to_string(config.window.count());
    case BatchPolicy::kStatic:
      return "static";
    case BatchPolicy::kInstances:
      break;
  }
  return std::to_string(config.instances) + " instances";
}

Result<std::vector<Config>> with_policies(const Config& config, std::string_view list) {
  std::vector<Config> configs;
  while (true) {
    const auto comma = list.find(',');
    auto one = with_policy(config, list.substr(0, comma));
    if (!one) return one.error();
    configs.push_back(*std::move(one));
    if (comma == std::string_view::npos) return configs;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace weft::measure
