#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/config/adapters_text.h"
#include "weft/config/keys/config_schema.h"
#include "weft/config/keys/setting_text.h"
#include "weft/config/policy_text.h"
#include "weft/config/replicas_text.h"

namespace weft {
namespace {

bool within(double number, double low, double high) { return number >= low && number <= high; }

/// Returns a number, whole or not; nothing for other values.
std::optional<double> number_in(const ConfigValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

struct IsInRange {
  const FileConfig& config;

  bool operator()(const TextSetting& /*setting*/) const { return true; }
  bool operator()(const FlagSetting& /*setting*/) const { return true; }
  bool operator()(const IntegerSetting& setting) const {
    const auto in_range = [&](const auto& member) {
      return member.of(config) >= setting.low && member.of(config) <= setting.high;
    };
    return std::visit(in_range, setting.member);
  }
  bool operator()(const NumberSetting& setting) const {
    return within(setting.member.of(config), setting.low, setting.high);
  }
  bool operator()(const TimeSetting& setting) const {
    return within(time_in_units(setting, config), setting.low, setting.high);
  }
  bool operator()(const ChoiceSetting& setting) const {
    return setting.get(config) < setting.names.size();
  }
  bool operator()(const PolicySetting& setting) const {
    if (config.engine.policy != BatchPolicy::kWindow) return policy_text(config.engine).has_value();
    return config.engine.window.count() >= setting.low &&
           config.engine.window.count() <= setting.high;
  }
  bool operator()(const ReplicasSetting& /*setting*/) const {
    return replica_devices(config.engine).has_value();
  }
  bool operator()(const AdaptersSetting& /*setting*/) const {
    return are_sound(config.engine.adapters);
  }
};

/// Sets a value of the right type and range; returns whether it was one.
struct Assign {
  const ConfigValue& value;
  FileConfig& config;

  bool operator()(const TextSetting& setting) const { return put(setting.member); }
  bool operator()(const FlagSetting& setting) const { return put(setting.member); }
  bool operator()(const IntegerSetting& setting) const {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < setting.low || *number > setting.high) return false;
    const auto put_number = [&](const auto& member) {
      member.of(config) =
          static_cast<std::remove_reference_t<decltype(member.of(config))>>(*number);
    };
    std::visit(put_number, setting.member);
    return true;
  }
  bool operator()(const NumberSetting& setting) const {
    const auto number = number_in(value);
    if (!number || !within(*number, setting.low, setting.high)) return false;
    setting.member.of(config) = *number;
    return true;
  }
  bool operator()(const TimeSetting& setting) const {
    const auto number = number_in(value);
    if (!number || !within(*number, setting.low, setting.high)) return false;
    const double ticks = *number * static_cast<double>(setting.unit.count());
    setting.member.of(config) = std::chrono::microseconds(std::llround(ticks));
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
    return text != nullptr && set_policy(*text, setting.low, setting.high, config.engine);
  }
  bool operator()(const ReplicasSetting& /*setting*/) const {
    Config changed;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      changed.replicas = std::to_string(*number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      changed.replicas = *text;
    } else {
      return false;
    }
    if (!replica_devices(changed)) return false;
    config.engine.replicas = std::move(changed.replicas);
    return true;
  }
  bool operator()(const AdaptersSetting& /*setting*/) const {
    const auto* text = std::get_if<std::string>(&value);
    auto adapters = text == nullptr ? std::nullopt : parse_adapters(*text);
    if (!adapters) return false;
    config.engine.adapters = *std::move(adapters);
    return true;
  }

 private:
  template <class T>
  bool put(const Member<T>& member) const {
    const auto* given = std::get_if<T>(&value);
    if (given != nullptr) member.of(config) = *given;
    return given != nullptr;
  }
};

std::string must_be(const Setting& setting) {
  struct Kind {
    std::string_view operator()(const TextSetting& /*setting*/) const { return ""; }
    std::string_view operator()(const FlagSetting& /*setting*/) const { return "one of "; }
    std::string_view operator()(const IntegerSetting& /*setting*/) const {
      return "a whole number in ";
    }
    std::string_view operator()(const NumberSetting& /*setting*/) const { return "a number in "; }
    std::string_view operator()(const TimeSetting& /*setting*/) const { return "a number in "; }
    std::string_view operator()(const ChoiceSetting& /*setting*/) const { return "one of "; }
    std::string_view operator()(const PolicySetting& /*setting*/) const { return "one of "; }
    std::string_view operator()(const ReplicasSetting& /*setting*/) const { return ""; }
    std::string_view operator()(const AdaptersSetting& /*setting*/) const { return ""; }
  };
  return ": must be " + std::string(std::visit(Kind{}, setting)) + range_of(setting);
}

}  // namespace

Complaint assign(const Setting& setting, const ConfigValue& value, FileConfig& config) {
  if (std::visit(Assign{value, config}, setting)) return std::nullopt;
  return shown_value(setting, value) + must_be(setting);
}

Complaint check(const Setting& setting, const FileConfig& config) {
  if (std::visit(IsInRange{config}, setting)) return std::nullopt;
  return value_of(setting, config) + must_be(setting);
}

}  // namespace weft
