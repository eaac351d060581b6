#include "weft/config/keys/setting_text.h"

#include <array>
#include <charconv>

#include "weft/config/adapters_text.h"
#include "weft/config/keys/config_schema.h"
#include "weft/config/policy_text.h"
#include "weft/config/replicas_text.h"
#include "weft/core/text/utf8.h"

// How settings and their values are written for people and in files.

namespace weft {
namespace {

std::string number_text(double number) {
  std::array<char, 32> digits{};  // the shortest text that reads back exactly has at most 24
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

std::string between_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

/// Quotes a text, and cuts it between characters where it is long. The text may be anything.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 60;
  if (text.size() <= kMost) return between_quotes(text);
  return between_quotes(std::string(cut_utf8(text, kMost)) + "...");
}

/// Writes a basic string of TOML.
std::string toml_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string all = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7F) {
      all.append("\\u00") += kHex[code >> 4U];
      all += kHex[code & 15U];
      continue;
    }
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all + '"';
}

struct ShowValue {
  std::string operator()(std::monostate /*none*/) const { return "a list, table or date"; }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return number_text(number); }
  std::string operator()(const std::string& text) const { return in_quotes(text); }
};

std::string bounds(double low, double high) {
  return number_text(low) + " .. " + number_text(high);
}

struct Range {
  std::string operator()(const TextSetting& /*setting*/) const { return "any text"; }
  std::string operator()(const FlagSetting& /*setting*/) const { return "true, false"; }
  std::string operator()(const IntegerSetting& setting) const {
    return std::to_string(setting.low) + " .. " + std::to_string(setting.high);
  }
  std::string operator()(const NumberSetting& setting) const {
    return bounds(setting.low, setting.high);
  }
  std::string operator()(const TimeSetting& setting) const {
    return bounds(setting.low, setting.high);
  }
  std::string operator()(const ChoiceSetting& setting) const {
    std::string all;
    for (const std::string_view name : setting.names) {
      all.append(all.empty() ? "" : ", ").append(between_quotes(name));
    }
    return all;
  }
  std::string operator()(const PolicySetting& setting) const {
    return policy_range(setting.low, setting.high);
  }
  std::string operator()(const ReplicasSetting& /*setting*/) const { return replicas_range(); }
  std::string operator()(const AdaptersSetting& /*setting*/) const {
    return "NAME=PATH between semicolons, or a table of paths";
  }
};

/// Returns the value of a setting whose value is no text.
struct Value {
  const FileConfig& config;

  std::string operator()(const TextSetting& setting) const { return setting.member.of(config); }
  std::string operator()(const FlagSetting& setting) const {
    return setting.member.of(config) ? "true" : "false";
  }
  std::string operator()(const IntegerSetting& setting) const {
    return std::visit([&](const auto& member) { return std::to_string(member.of(config)); },
                      setting.member);
  }
  std::string operator()(const NumberSetting& setting) const {
    return number_text(setting.member.of(config));
  }
  std::string operator()(const TimeSetting& setting) const {
    return number_text(time_in_units(setting, config));
  }
  std::string operator()(const ChoiceSetting& setting) const {
    const std::size_t name = setting.get(config);
    return name < setting.names.size() ? between_quotes(setting.names[name]) : "none of them";
  }
  std::string operator()(const PolicySetting& /*setting*/) const {
    const auto text = policy_text(config.engine);
    return text ? between_quotes(*text) : "none of them";
  }
  std::string operator()(const ReplicasSetting& /*setting*/) const {
    const std::string& replicas = config.engine.replicas;
    return lists_replicas(config.engine) ? toml_string(replicas) : replicas;
  }
  std::string operator()(const AdaptersSetting& /*setting*/) const {
    return toml_string(adapters_text(config.engine.adapters));
  }
};

template <class Number>
ConfigValue number_or_text(std::string_view text) {
  Number number{};
  const auto [stop, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc{} || stop != text.end()) return std::string(text);
  return number;
}

}  // namespace

double time_in_units(const TimeSetting& setting, const FileConfig& config) {
  return static_cast<double>(setting.member.of(config).count()) /
         static_cast<double>(setting.unit.count());
}

std::string range_of(const Setting& setting) { return std::visit(Range{}, setting); }

bool is_secret(const Setting& setting) noexcept {
  const auto* text = std::get_if<TextSetting>(&setting);
  return text != nullptr && text->secret;
}

std::string value_of(const Setting& setting, const FileConfig& config) {
  std::string value = std::visit(Value{config}, setting);
  if (!std::holds_alternative<TextSetting>(setting)) return value;
  return is_secret(setting) && !value.empty() ? "..." : in_quotes(value);
}

std::string toml_of(const Setting& setting, const FileConfig& config) {
  std::string value = std::visit(Value{config}, setting);
  return std::holds_alternative<TextSetting>(setting) ? toml_string(value) : value;
}

std::string shown_value(const Setting& setting, const ConfigValue& value) {
  return is_secret(setting) ? "..." : std::visit(ShowValue{}, value);
}

ConfigValue value_from_text(const Setting& setting, std::string_view text) {
  if (std::holds_alternative<FlagSetting>(setting)) {
    if (text == "true") return true;
    if (text == "false") return false;
  } else if (std::holds_alternative<IntegerSetting>(setting)) {
    return number_or_text<std::int64_t>(text);
  } else if (std::holds_alternative<NumberSetting>(setting) ||
             std::holds_alternative<TimeSetting>(setting)) {
    return number_or_text<double>(text);
  }
  return std::string(text);
}

}  // namespace weft
