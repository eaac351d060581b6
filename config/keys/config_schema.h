#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "weft/config/file_config.h"

namespace weft {

/// The value that a file gives a key; std::monostate stands for types that no key takes (a list, a
/// table, a date).
using ConfigValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// The path to a member of FileConfig, however deep: Member<std::int32_t>::at<&FileConfig::server,
/// &ServerConfig::port>().
template <class T>
class Member {
 public:
  template <auto... kPath>
  [[nodiscard]] static constexpr Member at() noexcept {
    return Member([](const FileConfig& config) -> const T& { return (config.*....*kPath); },
                  [](FileConfig& config) -> T& { return (config.*....*kPath); });
  }
  [[nodiscard]] const T& of(const FileConfig& config) const { return read_(config); }
  [[nodiscard]] T& of(FileConfig& config) const { return write_(config); }

 private:
  using Read = const T& (*)(const FileConfig& config);
  using Write = T& (*)(FileConfig& config);

  constexpr Member(Read read, Write write) noexcept : read_(read), write_(write) {}

  Read read_;
  Write write_;
};

/// The kinds of keys: the member that each sets, and the values that it may have.
struct TextSetting {
  Member<std::string> member;
  bool secret = false;  ///< no output shows the value
};
struct FlagSetting {
  Member<bool> member;
};
struct IntegerSetting {
  std::variant<Member<std::int32_t>, Member<std::int64_t>> member;
  std::int64_t low;
  std::int64_t high;  ///< the largest number that the member can hold
};
struct NumberSetting {
  Member<double> member;
  double low;
  double high;
};
/// A time as a number of units, fractions allowed.
struct TimeSetting {
  Member<std::chrono::microseconds> member;
  std::chrono::microseconds unit;  ///< the unit that ends the key's name: "_ms", "_s"
  double low;
  double high;
};
/// A setting whose value is one of several names.
struct ChoiceSetting {
  std::span<const std::string_view> names;
  std::size_t (*get)(const FileConfig& config);  ///< returns names.size() when the value is none of
                                                 ///< them
  void (*set)(FileConfig& config, std::size_t name);
};
/// Config::policy and window in one: "fusion", "static", "instances" or "window:MILLISECONDS".
struct PolicySetting {
  std::int64_t low;
  std::int64_t high;
};
/// Config::replicas: a whole number, or devices between semicolons.
struct ReplicasSetting {};
/// Config::adapters: "NAME=PATH" between semicolons; in a file also a table of paths by name.
struct AdaptersSetting {};
using Setting = std::variant<TextSetting, FlagSetting, IntegerSetting, NumberSetting, TimeSetting,
                             ChoiceSetting, PolicySetting, ReplicasSetting, AdaptersSetting>;

/// One key of a configuration file.
struct ConfigKey {
  std::string_view table;
  std::string_view name;
  Setting setting;
  std::string_view what;         ///< the key's meaning: a sentence without its full stop
  std::string_view why;          ///< the reason of its default; likewise
  std::string_view flag_name{};  ///< set only where the name alone is not clear enough

  /// "table.name", such as "memory.max_rows".
  [[nodiscard]] std::string path() const;
  /// Its flag, such as "--max-rows".
  [[nodiscard]] std::string flag() const;
  /// Its environment variable, such as "WEFT_MEMORY_MAX_ROWS".
  [[nodiscard]] std::string variable() const;
};

/// Every key; those of a table are adjacent. docs/configuration.md has the same words; a test
/// compares the two. Thread-safe, like all functions here.
[[nodiscard]] std::span<const ConfigKey> config_schema() noexcept;

/// The keys of an engine, which come first: a verb without a server takes only these.
[[nodiscard]] std::span<const ConfigKey> engine_schema() noexcept;

/// Returns null when there is no such key.
[[nodiscard]] const ConfigKey* find_key(std::string_view table, std::string_view name) noexcept;

/// The setting's range for people: "1 .. 4096", "\"pages\", \"slab\"", "any text".
[[nodiscard]] std::string range_of(const Setting& setting);

/// The setting's value for people: 16, "pages". A long text is cut, a secret one is "...".
[[nodiscard]] std::string value_of(const Setting& setting, const FileConfig& config);

/// The setting's value as a file has it, whole, secret or not. Text that is not UTF-8 has no such
/// form.
[[nodiscard]] std::string toml_of(const Setting& setting, const FileConfig& config);

[[nodiscard]] bool is_secret(const Setting& setting) noexcept;

/// Turns a value of the command line or the environment into a file's value: numbers, true or false
/// where the setting is one; other text stays text, which assign() refuses.
[[nodiscard]] ConfigValue value_from_text(const Setting& setting, std::string_view text);

/// Why a value is not valid ("16.5: must be a whole number in 1 .. 4096"); nothing when it is.
using Complaint = std::optional<std::string>;

/// Sets the member to `value`. With a complaint `config` is unchanged.
[[nodiscard]] Complaint assign(const Setting& setting, const ConfigValue& value,
                               FileConfig& config);

/// Checks that the member's value is in its range.
[[nodiscard]] Complaint check(const Setting& setting, const FileConfig& config);

}  // namespace weft
