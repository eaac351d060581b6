#include "weft/model/program/rotary_frequencies.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <utility>

#include "weft/model/model_error.h"

namespace weft {
namespace {

namespace json = boost::json;

// The most that a spec may state.
constexpr double kMaxStretched = 1 << 30;

Error bad(const std::string& what) { return {ModelErrc::kBadConfig, "rope scaling: " + what}; }

class Parameters {
 public:
  explicit Parameters(const json::value& scaling) : fields_(scaling.if_object()) {}

  [[nodiscard]] std::string type() const {
    for (const char* key : {"rope_type", "type"}) {
      const json::value* found = find(key);
      if (found != nullptr && found->is_string()) return std::string(found->get_string());
    }
    return "default";
  }

  [[nodiscard]] double number(std::string_view key, double otherwise) const {
    const json::value* found = find(key);
    return found != nullptr && found->is_number() ? found->to_number<double>() : otherwise;
  }

  [[nodiscard]] bool flag(std::string_view key, bool otherwise) const {
    const json::value* found = find(key);
    return found != nullptr && found->is_bool() ? found->get_bool() : otherwise;
  }

  [[nodiscard]] std::vector<double> numbers(std::string_view key) const {
    std::vector<double> all;
    const json::value* found = find(key);
    if (found == nullptr || !found->is_array()) return all;
    for (const json::value& item : found->get_array()) {
      if (item.is_number()) all.push_back(item.to_number<double>());
    }
    return all;
  }

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

 private:
  [[nodiscard]] const json::value* find(std::string_view key) const {
    const json::value* found = fields_ == nullptr ? nullptr : fields_->if_contains(key);
    return found == nullptr || found->is_null() ? nullptr : found;
  }

  const json::object* fields_;
};

// In float32 where the reference implementation rounds to float32.
std::vector<float> plain_frequencies(std::int32_t size, double theta) {
  std::vector<float> frequency;
  for (std::int32_t i = 0; i < size; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(size);
    const auto power = static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
    frequency.push_back(1.0F / power);
  }
  return frequency;
}

Result<RotaryFrequencies> llama3(std::vector<float> plain, const Parameters& parameters) {
  const double factor = parameters.number("factor", 0);
  const double low = parameters.number("low_freq_factor", 0);
  const double high = parameters.number("high_freq_factor", 0);
  const double trained = parameters.number("original_max_position_embeddings", 0);
  if (!(factor >= 1) || !(low > 0) || !(high > low) || !(trained > 0)) {
    return bad(
        "llama3 needs factor, low_freq_factor, high_freq_factor and "
        "original_max_position_embeddings");
  }
  for (float& frequency : plain) {
    const double wavelength = 2 * std::numbers::pi / frequency;
    const double smooth = std::clamp((trained / wavelength - low) / (high - low), 0.0, 1.0);
    frequency = static_cast<float>((1 - smooth) * frequency / factor + smooth * frequency);
  }
  return RotaryFrequencies{.frequency = std::move(plain)};
}

// GGUF files state a divisor for each frequency, the result of llama3's scaling.
Result<void> divide(std::vector<float>& frequencies, const std::vector<double>& divisors) {
  if (divisors.empty()) return {};
  const auto usable = [](double number) { return std::isfinite(number) && number > 0; };
  if (divisors.size() != frequencies.size() || !std::ranges::all_of(divisors, usable)) {
    return bad("divisors must be " + std::to_string(frequencies.size()) + " positive numbers");
  }
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = static_cast<float>(frequencies[i] / divisors[i]);
  }
  return {};
}

double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

Result<RotaryFrequencies> yarn(std::vector<float> plain, std::int32_t size, double theta,
                               const Parameters& parameters, double context, double trained) {
  trained = parameters.number("original_max_position_embeddings", trained);
  const double factor = parameters.number("factor", context / trained);
  const double fast = parameters.number("beta_fast", 32);
  const double slow = parameters.number("beta_slow", 1);
  if (!(factor >= 1) || !(fast > 0) || !(slow > 0) || !(trained > 0)) {
    return bad(
        "yarn needs factor >= 1 and positive beta_fast, beta_slow and "
        "original_max_position_embeddings");
  }
  // Returns the dimension that rotates `turns` times over the trained context (section 3.2 of the
  // paper).
  const auto dimension = [&](double turns) {
    return size * std::log(trained / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  double low = dimension(fast);
  double high = dimension(slow);
  if (parameters.flag("truncate", true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(size - 1));
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    plain[i] = static_cast<float>(plain[i] / factor * ramp + plain[i] * (1 - ramp));
  }
  const double mscale = parameters.number("mscale", 0);
  const double mscale_all = parameters.number("mscale_all_dim", 0);
  const double standard = mscale != 0 && mscale_all != 0
                              ? yarn_magnitude(factor, mscale) / yarn_magnitude(factor, mscale_all)
                              : yarn_magnitude(factor, 1);
  const double magnitude = parameters.number("attention_factor", standard);
  return RotaryFrequencies{.frequency = std::move(plain),
                           .magnitude = static_cast<float>(magnitude)};
}

// Returns the base after NTK-aware scaling: it grows so that the slowest angles stretch and the
// fastest stay.
double stretched_theta(double theta, double stretch, std::int32_t size) {
  return theta * std::pow(stretch, static_cast<double>(size) / (size - 2));
}

// The reference implementation computes a base for each length. Here all sequences that exceed the
// trained context have the base of the longest, so that cached keys keep their angles.
Result<RotaryFrequencies> dynamic(std::vector<float> plain, std::int32_t size, double theta,
                                  const Parameters& parameters, double trained) {
  const double alpha = parameters.number("alpha", 0);
  const double factor = parameters.number("factor", 1);
  if (!(factor >= 1) || !std::isfinite(factor) || !(alpha >= 0) || !std::isfinite(alpha)) {
    return bad("dynamic needs factor >= 1 and, where there is one, a positive alpha");
  }
  if (size <= 2) return bad("dynamic needs more than two rotary dimensions");
  // Hunyuan's base is stretched once, for every length.
  if (alpha > 0) {
    return RotaryFrequencies{.frequency =
                                 plain_frequencies(size, stretched_theta(theta, alpha, size))};
  }
  const double longest = std::floor(trained * factor);
  if (longest > kMaxStretched) return bad("a dynamic factor for more than 2^30 positions");
  RotaryFrequencies result{.frequency = std::move(plain)};
  if (longest <= trained) return result;
  const double stretch = factor * longest / trained - (factor - 1);
  result.long_frequency = plain_frequencies(size, stretched_theta(theta, stretch, size));
  result.long_from = static_cast<std::int64_t>(trained);
  result.context = static_cast<std::int64_t>(longest);
  return result;
}

Result<RotaryFrequencies> longrope(const std::vector<float>& plain, const Parameters& parameters,
                                   double context, double trained) {
  trained = parameters.number("original_max_position_embeddings", trained);
  const std::vector<double> shorter = parameters.numbers("short_factor");
  const std::vector<double> longer = parameters.numbers("long_factor");
  if (shorter.size() != plain.size() || longer.size() != plain.size() || !(trained > 1)) {
    return bad("longrope needs short_factor and long_factor of " + std::to_string(plain.size()) +
               " numbers and original_max_position_embeddings");
  }
  const auto usable = [](double number) { return std::isfinite(number) && number > 0; };
  if (!std::ranges::all_of(shorter, usable) || !std::ranges::all_of(longer, usable)) {
    return bad("longrope factors must be positive");
  }
  const double factor = parameters.number("factor", context / trained);
  const double standard = factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(trained));
  const double magnitude = parameters.number("attention_factor", standard);
  RotaryFrequencies result{
      .frequency = plain,
      .magnitude = static_cast<float>(parameters.number("short_mscale", magnitude)),
      .long_frequency = plain,
      .long_magnitude = static_cast<float>(parameters.number("long_mscale", magnitude)),
      .long_from = static_cast<std::int64_t>(trained)};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    result.frequency[i] = static_cast<float>(plain[i] / shorter[i]);
    result.long_frequency[i] = static_cast<float>(plain[i] / longer[i]);
  }
  return result;
}

// Only the first pairs are rotated; their frequencies are as if all pairs were.
Result<RotaryFrequencies> proportional(std::vector<float> plain, const Parameters& parameters) {
  const double factor = parameters.number("factor", 1);
  const double part = parameters.number("partial_rotary_factor", 1);
  if (!(factor > 0) || !std::isfinite(factor) || !(part >= 0) || !(part <= 1)) {
    return bad("proportional needs a positive factor and partial_rotary_factor of 0 to 1");
  }
  const auto turning = static_cast<std::size_t>(part * static_cast<double>(2 * plain.size()) / 2);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    plain[i] = i < turning ? static_cast<float>(plain[i] / factor) : 0.0F;
  }
  return RotaryFrequencies{.frequency = std::move(plain)};
}

}  // namespace

Result<RotaryFrequencies> rotary_frequencies(std::int32_t size, double theta,
                                             const json::value& scaling, std::int64_t context,
                                             std::int64_t trained_context) {
  if (!scaling.is_null() && !scaling.is_object()) {
    return bad(json::serialize(scaling) + " where an object is needed");
  }
  const Parameters parameters(scaling);
  const std::string type = parameters.type();
  std::vector<float> plain = plain_frequencies(size, theta);
  if (const auto divided = divide(plain, parameters.numbers("divisors")); !divided)
    return divided.error();
  const auto length = static_cast<double>(context);
  const auto trained = static_cast<double>(trained_context);
  if (type == "default" || type == "mrope") return RotaryFrequencies{.frequency = std::move(plain)};
  if (type == "dynamic") return dynamic(std::move(plain), size, theta, parameters, length);
  if (type == "linear") {
    const double factor = parameters.number("factor", 0);
    if (!(factor > 0) || !std::isfinite(factor)) return bad("linear needs a positive factor");
    for (float& frequency : plain) frequency = static_cast<float>(frequency / factor);
    return RotaryFrequencies{.frequency = std::move(plain)};
  }
  if (type == "llama3") return llama3(std::move(plain), parameters);
  if (type == "yarn") return yarn(std::move(plain), size, theta, parameters, length, trained);
  if (type == "proportional") return proportional(std::move(plain), parameters);
  if (type == "longrope" || type == "su") return longrope(plain, parameters, length, trained);
  return bad("type '" + type + "' is not known");
}

}  // namespace weft
