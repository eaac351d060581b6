#include "weft/config/policy_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weft {
namespace {

constexpr std::string_view kWindow = "window:";

struct PolicyName {
  BatchPolicy policy;
  std::string_view name;
};
constexpr std::array kPolicies = {PolicyName{BatchPolicy::kFusion, "fusion"},
                                  PolicyName{BatchPolicy::kStatic, "static"},
                                  PolicyName{BatchPolicy::kInstances, "instances"}};

std::string window_text(std::int64_t milliseconds) {
  return std::string(kWindow) + std::to_string(milliseconds);
}

}  // namespace

std::optional<std::string> policy_text(const Config& config) {
  if (config.policy == BatchPolicy::kWindow) return window_text(config.window.count());
  const auto* found = std::ranges::find(kPolicies, config.policy, &PolicyName::policy);
  if (found == kPolicies.end()) return std::nullopt;
  return std::string(found->name);
}

bool set_policy(std::string_view text, std::int64_t low, std::int64_t high, Config& config) {
  if (text.starts_with(kWindow)) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kWindow.size(), end, number);
    if (error != std::errc{} || stop != end || number < low || number > high) return false;
    config.policy = BatchPolicy::kWindow;
    config.window = std::chrono::milliseconds(number);
    return true;
  }
  const auto* found = std::ranges::find(kPolicies, text, &PolicyName::name);
  if (found == kPolicies.end()) return false;
  config.policy = found->policy;
  return true;
}

std::string policy_range(std::int64_t low, std::int64_t high) {
  std::string all;
  for (const PolicyName& policy : kPolicies) all.append("\"").append(policy.name).append("\", ");
  return all + '"' + window_text(low) + "\" .. \"" + window_text(high) + '"';
}

}  // namespace weft
