#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <type_traits>

#include "weft/config/config_schema.h"

namespace weft {
namespace {

constexpr std::string_view kWindow = "window:";
constexpr double kMicrosecondsOfOne = 1000;  // of a millisecond

std::string number_text(double number) {
  std::array<char, 32> digits{};  // the shortest that reads back has at most 24
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

/// In quotes, cut between characters where it is long: it may be anything.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::size_t end = std::min(text.size(), kMost);
  if (end < text.size()) {
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  }
  return '"' + std::string(text.substr(0, end)) + (end < text.size() ? "...\"" : "\"");
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

bool within(double number, double low, double high) { return number >= low && number <= high; }

/// A number, whole or not.
std::optional<double> number_in(const ConfigValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

double milliseconds_of(std::chrono::microseconds time) {
  return static_cast<double>(time.count()) / kMicrosecondsOfOne;
}

std::int64_t integer_of(const IntegerSetting& setting, const Config& config) {
  return std::visit([&](auto member) { return std::int64_t{config.*member}; }, setting.member);
}

struct PolicyName {
  BatchPolicy policy;
  std::string_view name;
};
constexpr std::array kPolicies = {PolicyName{BatchPolicy::kFusion, "fusion"},
                                  PolicyName{BatchPolicy::kStatic, "static"},
                                  PolicyName{BatchPolicy::kInstances, "instances"}};

std::string window_text(std::int64_t milliseconds) {
  return in_quotes(std::string(kWindow) + std::to_string(milliseconds));
}

/// What a setting may be, as the page of the configuration writes it.
struct Range {
  std::string operator()(const TextSetting& /*setting*/) const { return "any text"; }
  std::string operator()(const IntegerSetting& setting) const {
    return std::to_string(setting.low) + " .. " + std::to_string(setting.high);
  }
  std::string operator()(const NumberSetting& setting) const {
    return bounds(setting.low, setting.high);
  }
  std::string operator()(const MillisecondsSetting& setting) const {
    return bounds(setting.low, setting.high);
  }
  std::string operator()(const ChoiceSetting& setting) const {
    std::string all;
    for (const std::string_view name : setting.names) {
      all.append(all.empty() ? "" : ", ").append(in_quotes(name));
    }
    return all;
  }
  std::string operator()(const PolicySetting& setting) const {
    std::string all;
    for (const PolicyName& policy : kPolicies) all.append(in_quotes(policy.name)).append(", ");
    return all + window_text(setting.low) + " .. " + window_text(setting.high);
  }
};

struct Value {
  const Config& config;

  std::string operator()(const TextSetting& setting) const {
    return in_quotes(config.*setting.member);
  }
  std::string operator()(const IntegerSetting& setting) const {
    return std::to_string(integer_of(setting, config));
  }
  std::string operator()(const NumberSetting& setting) const {
    return number_text(config.*setting.member);
  }
  std::string operator()(const MillisecondsSetting& setting) const {
    return number_text(milliseconds_of(config.*setting.member));
  }
  std::string operator()(const ChoiceSetting& setting) const {
    const std::size_t name = setting.get(config);
    return name < setting.names.size() ? in_quotes(setting.names[name]) : "none of them";
  }
  std::string operator()(const PolicySetting& /*setting*/) const {
    if (config.policy == BatchPolicy::kWindow) return window_text(config.window.count());
    const auto* found = std::ranges::find(kPolicies, config.policy, &PolicyName::policy);
    return found == kPolicies.end() ? "none of them" : in_quotes(found->name);
  }
};

struct IsInRange {
  const Config& config;

  bool operator()(const TextSetting& /*setting*/) const { return true; }
  bool operator()(const IntegerSetting& setting) const {
    const std::int64_t number = integer_of(setting, config);
    return number >= setting.low && number <= setting.high;
  }
  bool operator()(const NumberSetting& setting) const {
    return within(config.*setting.member, setting.low, setting.high);
  }
  bool operator()(const MillisecondsSetting& setting) const {
    return within(milliseconds_of(config.*setting.member), setting.low, setting.high);
  }
  bool operator()(const ChoiceSetting& setting) const {
    return setting.get(config) < setting.names.size();
  }
  bool operator()(const PolicySetting& setting) const {
    if (config.policy == BatchPolicy::kWindow) {
      return config.window.count() >= setting.low && config.window.count() <= setting.high;
    }
    return std::ranges::find(kPolicies, config.policy, &PolicyName::policy) != kPolicies.end();
  }
};

/// Sets what is of the right type and in range; whether it was.
struct Assign {
  const ConfigValue& value;
  Config& config;

  bool operator()(const TextSetting& setting) const {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr) config.*setting.member = *text;
    return text != nullptr;
  }
  bool operator()(const IntegerSetting& setting) const {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < setting.low || *number > setting.high) return false;
    const auto put = [&](auto member) {
      using Member = std::remove_reference_t<decltype(config.*member)>;
      config.*member = static_cast<Member>(*number);
    };
    std::visit(put, setting.member);
    return true;
  }
  bool operator()(const NumberSetting& setting) const {
    const auto number = number_in(value);
    if (!number || !within(*number, setting.low, setting.high)) return false;
    config.*setting.member = *number;
    return true;
  }
  bool operator()(const MillisecondsSetting& setting) const {
    const auto number = number_in(value);
    if (!number || !within(*number, setting.low, setting.high)) return false;
    config.*setting.member = std::chrono::microseconds(std::llround(*number * kMicrosecondsOfOne));
    return true;
  }
  bool operator()(const ChoiceSetting& setting) const {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return false;
    const auto found = std::ranges::find(setting.names, *text);
    if (found == setting.names.end()) return false;
    setting.set(config, static_cast<std::size_t>(found - setting.names.begin()));
    return true;
  }
  bool operator()(const PolicySetting& setting) const {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return false;
    if (text->starts_with(kWindow)) return set_window(*text, setting);
    const auto* found = std::ranges::find(kPolicies, *text, &PolicyName::name);
    if (found == kPolicies.end()) return false;
    config.policy = found->policy;
    return true;
  }

 private:
  [[nodiscard]] bool set_window(std::string_view text, const PolicySetting& setting) const {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kWindow.size(), end, number);
    if (error != std::errc{} || stop != end) return false;
    if (number < setting.low || number > setting.high) return false;
    config.policy = BatchPolicy::kWindow;
    config.window = std::chrono::milliseconds(number);
    return true;
  }
};

std::string must_be(const Setting& setting) {
  const bool whole = std::holds_alternative<IntegerSetting>(setting);
  const bool choice = std::holds_alternative<ChoiceSetting>(setting) ||
                      std::holds_alternative<PolicySetting>(setting);
  const bool text = std::holds_alternative<TextSetting>(setting);
  const std::string_view kind = text     ? ""
                                : choice ? "one of "
                                : whole  ? "a whole number in "
                                         : "a number in ";
  return ": must be " + std::string(kind) + range_of(setting);
}

}  // namespace

std::string ConfigKey::path() const { return std::string(table) + "." + std::string(name); }

std::string range_of(const Setting& setting) { return std::visit(Range{}, setting); }

std::string value_of(const Setting& setting, const Config& config) {
  return std::visit(Value{config}, setting);
}

Complaint assign(const Setting& setting, const ConfigValue& value, Config& config) {
  if (std::visit(Assign{value, config}, setting)) return std::nullopt;
  return std::visit(ShowValue{}, value) + must_be(setting);
}

Complaint check(const Setting& setting, const Config& config) {
  if (std::visit(IsInRange{config}, setting)) return std::nullopt;
  return value_of(setting, config) + must_be(setting);
}

}  // namespace weft
