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

/// What a file gives a key; nothing stands for what no key takes (a list, a table, a date).
using ConfigValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// A place in a FileConfig, however deep: Member<std::int32_t>::at<&FileConfig::server,
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

/// Kinds of keys: the member that they set, and what it may be, bounds included.
struct TextSetting {
  Member<std::string> member;
  bool secret = false;  ///< it is shown to nobody
};
struct FlagSetting {
  Member<bool> member;
};
struct IntegerSetting {
  std::variant<Member<std::int32_t>, Member<std::int64_t>> member;
  std::int64_t low;
  std::int64_t high;  ///< one that the member can hold
};
struct NumberSetting {
  Member<double> member;
  double low;
  double high;
};
/// A number of units of time, fractions allowed.
struct TimeSetting {
  Member<std::chrono::microseconds> member;
  std::chrono::microseconds unit;  ///< the key's name ends in it: "_ms", "_s"
  double low;
  double high;
};
/// One of some names.
struct ChoiceSetting {
  std::span<const std::string_view> names;
  std::size_t (*get)(const FileConfig& config);  ///< names.size() when it is none of them
  void (*set)(FileConfig& config, std::size_t name);
};
/// Config::policy and window in one: "fusion", "static", "instances" or "window:MILLISECONDS".
struct PolicySetting {
  std::int64_t low;
  std::int64_t high;
};
using Setting = std::variant<TextSetting, FlagSetting, IntegerSetting, NumberSetting, TimeSetting,
                             ChoiceSetting, PolicySetting>;

/// One key of a configuration file.
struct ConfigKey {
  std::string_view table;
  std::string_view name;
  Setting setting;
  std::string_view what;         ///< it is; a sentence without its full stop
  std::string_view why;          ///< this default; likewise
  std::string_view flag_name{};  ///< where the name alone does not say enough

  /// "memory.max_rows".
  [[nodiscard]] std::string path() const;
  /// "--max-rows".
  [[nodiscard]] std::string flag() const;
  /// "WEFT_MEMORY_MAX_ROWS".
  [[nodiscard]] std::string variable() const;
};

/// Every key, those of a table side by side. docs/configuration.md has the same words; a test
/// compares the two. Thread-safe, as all here.
[[nodiscard]] std::span<const ConfigKey> config_schema() noexcept;

/// Those of an engine, which are the first: a verb without a server takes no others.
[[nodiscard]] std::span<const ConfigKey> engine_schema() noexcept;

/// Null when there is no such key.
[[nodiscard]] const ConfigKey* find_key(std::string_view table, std::string_view name) noexcept;

/// "1 .. 4096", "\"pages\", \"slab\"", "any text".
[[nodiscard]] std::string range_of(const Setting& setting);

/// The setting's value for people: 16, "pages". A long text is cut, a secret one is "...".
[[nodiscard]] std::string value_of(const Setting& setting, const FileConfig& config);

/// The value as a file has it, whole, secret or not. Text that is not UTF-8 has no such form.
[[nodiscard]] std::string toml_of(const Setting& setting, const FileConfig& config);

[[nodiscard]] bool is_secret(const Setting& setting) noexcept;

/// What a file would have for what a command line or the environment says: numbers and
/// true or false where the setting is one, and text that assign() refuses where it is not.
[[nodiscard]] ConfigValue value_from_text(const Setting& setting, std::string_view text);

/// Why a value will not do ("16.5: must be a whole number in 1 .. 4096"), or nothing.
using Complaint = std::optional<std::string>;

/// Puts `value` where it belongs. With a complaint `config` is as it was.
[[nodiscard]] Complaint assign(const Setting& setting, const ConfigValue& value,
                               FileConfig& config);

/// Whether the value that is there is in its range.
[[nodiscard]] Complaint check(const Setting& setting, const FileConfig& config);

}  // namespace weft
