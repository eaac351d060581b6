#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/config/keys/config_schema.h"

/// How the schema's tables write their settings: kPath is the path of the member from a FileConfig.
namespace weft::setting_kinds {

template <auto... kPath>
constexpr Setting text() {
  return TextSetting{Member<std::string>::at<kPath...>()};
}

template <auto... kPath>
constexpr Setting secret_text() {
  return TextSetting{Member<std::string>::at<kPath...>(), true};
}

template <auto... kPath>
constexpr Setting flag() {
  return FlagSetting{Member<bool>::at<kPath...>()};
}

template <auto... kPath>
constexpr Setting integer(std::int64_t low, std::int64_t high) {
  using Value = std::remove_cvref_t<decltype((std::declval<FileConfig&>().*....*kPath))>;
  return IntegerSetting{Member<Value>::template at<kPath...>(), low, high};
}

template <auto... kPath>
constexpr Setting number(double low, double high) {
  return NumberSetting{Member<double>::at<kPath...>(), low, high};
}

template <auto... kPath>
constexpr Setting milliseconds(double low, double high) {
  return TimeSetting{Member<std::chrono::microseconds>::at<kPath...>(),
                     std::chrono::milliseconds(1), low, high};
}

template <auto... kPath>
constexpr Setting seconds(double low, double high) {
  return TimeSetting{Member<std::chrono::microseconds>::at<kPath...>(), std::chrono::seconds(1),
                     low, high};
}

/// kNames has the names of kValues in the same order.
template <const auto& kNames, const auto& kValues, auto... kPath>
constexpr Setting choice() {
  static_assert(kNames.size() == kValues.size());
  return ChoiceSetting{
      kNames,
      [](const FileConfig& config) {
        const auto found = std::ranges::find(kValues, (config.*....*kPath));
        return static_cast<std::size_t>(found - kValues.begin());
      },
      [](FileConfig& config, std::size_t name) { (config.*....*kPath) = kValues[name]; }};
}

}  // namespace weft::setting_kinds
