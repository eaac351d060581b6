#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "weft/config/config.h"

namespace weft {

/// What a file gives a key; nothing stands for what no key takes (a list, a table, a date).
using ConfigValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// Kinds of keys: the member of Config that they set, and what it may be, bounds included.
struct TextSetting {
  std::string Config::* member;
};
struct IntegerSetting {
  std::variant<std::int32_t Config::*, std::int64_t Config::*> member;
  std::int64_t low;
  std::int64_t high;  ///< one that the member can hold
};
struct NumberSetting {
  double Config::* member;
  double low;
  double high;
};
/// A number of milliseconds, fractions allowed.
struct MillisecondsSetting {
  std::chrono::microseconds Config::* member;
  double low;
  double high;
};
/// One of some names.
struct ChoiceSetting {
  std::span<const std::string_view> names;
  std::size_t (*get)(const Config& config);  ///< names.size() when it is none of them
  void (*set)(Config& config, std::size_t name);
};
/// Config::policy and window in one: "fusion", "static", "instances" or "window:MILLISECONDS".
struct PolicySetting {
  std::int64_t low;
  std::int64_t high;
};
using Setting = std::variant<TextSetting, IntegerSetting, NumberSetting, MillisecondsSetting,
                             ChoiceSetting, PolicySetting>;

/// One key of a configuration file.
struct ConfigKey {
  std::string_view table;
  std::string_view name;
  Setting setting;

  /// "memory.max_rows".
  [[nodiscard]] std::string path() const;
};

/// Every key, those of a table side by side. docs/configuration.md explains them; a test compares
/// the two. Thread-safe, as all here.
[[nodiscard]] std::span<const ConfigKey> config_schema() noexcept;

/// "1 .. 4096", "\"pages\", \"slab\"", "any text".
[[nodiscard]] std::string range_of(const Setting& setting);

/// The setting's value as a file has it: 16, "pages".
[[nodiscard]] std::string value_of(const Setting& setting, const Config& config);

/// Why a value will not do ("16.5: must be a whole number in 1 .. 4096"), or nothing.
using Complaint = std::optional<std::string>;

/// Puts `value` where it belongs. With a complaint `config` is as it was.
[[nodiscard]] Complaint assign(const Setting& setting, const ConfigValue& value, Config& config);

/// Whether the value that is there is in its range.
[[nodiscard]] Complaint check(const Setting& setting, const Config& config);

}  // namespace weft
