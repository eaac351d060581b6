#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "weft/grammar/schema/json_parts.h"

namespace weft::grammar {
namespace {

using Part = GrammarBuilder::Part;

/// A bound's absolute value.
struct Magnitude {
  std::string whole = "0";    ///< without leading zeros
  std::string fraction = {};  ///< without trailing zeros
  bool excluded = false;

  [[nodiscard]] bool is_zero() const { return whole == "0" && fraction.empty(); }
  [[nodiscard]] char digit_behind(std::size_t at) const {
    return at < fraction.size() ? fraction[at] : '0';
  }
  [[nodiscard]] bool ends_before(std::size_t at) const { return at >= fraction.size(); }
};

Magnitude magnitude_of(std::string_view decimal, bool excluded) {
  Magnitude result{.excluded = excluded};
  const std::size_t point = std::min(decimal.find('.'), decimal.size());
  result.whole = decimal.substr(0, point);
  if (point < decimal.size()) result.fraction = decimal.substr(point + 1);
  while (!result.fraction.empty() && result.fraction.back() == '0') result.fraction.pop_back();
  return result;
}

/// Decimal numbers between two magnitudes, digit by digit. While the digits so far equal those of a
/// bound, the bound limits the next digit.
class MagnitudeRange {
 public:
  MagnitudeRange(GrammarBuilder& builder, Magnitude low, const Magnitude* high,
                 std::uint32_t fraction_digits)
      : builder_(builder), low_(std::move(low)), high_(high), most_(fraction_digits) {}

  Part part() {
    std::vector<Part> parts;
    const std::size_t least = least_whole_digits();
    const std::size_t longest =
        high_ == nullptr
            ? std::max<std::size_t>(least, kMaxWholeDigits)
            : std::min(high_->whole.size(), std::max<std::size_t>(least, kMaxBoundDigits));
    for (std::size_t size = low_.whole.size(); size <= longest; ++size) {
      const bool at_low = size == low_.whole.size();
      const bool at_high = high_ != nullptr && size == high_->whole.size();
      parts.push_back(whole(size, 0, at_low, at_high));
    }
    return builder_.any_of(parts);
  }

 private:
  /// Returns the digits before the point that a number above the lower bound needs: as many as the
  /// bound has, or one more where all of these are 9.
  [[nodiscard]] std::size_t least_whole_digits() const {
    const bool is_last = low_.whole.find_first_not_of('9') == std::string::npos;
    return low_.whole.size() + (is_last ? 1 : 0);
  }

  /// Returns one digit and the text after it; `next` is told whether the digit equals a bound's
  /// digit.
  template <class Next>
  Part digits(char low, char high, bool at_low, bool at_high, const Next& next) {
    if (low > high) return builder_.any_of(std::span<const Part>());
    std::vector<Part> parts;
    const auto add = [&](char first, char last, bool low_one, bool high_one) {
      if (first > last) return;
      parts.push_back(builder_.sequence({digit(first, last), next(low_one, high_one)}));
    };
    if (low == high) {
      add(low, low, at_low, at_high);
    } else {
      if (at_low) add(low, low, true, false);
      add(at_low ? static_cast<char>(low + 1) : low, at_high ? static_cast<char>(high - 1) : high,
          false, false);
      if (at_high) add(high, high, false, true);
    }
    return builder_.any_of(parts);
  }

  Part digit(char first, char last) {
    const auto [found, is_new] = digits_.try_emplace({first, last});
    if (is_new) {
      found->second = builder_.dfa(
          utf8_dfa(CodeSet({{static_cast<char32_t>(first), static_cast<char32_t>(last)}})));
    }
    return found->second;
  }

  /// Returns the digits from `at` on of a whole part of `size` digits, and the text after them.
  Part whole(std::size_t size, std::size_t at, bool at_low, bool at_high) {
    if (at == size) return point(at_low, at_high);
    if (!at_low && !at_high && at > 0) {
      const auto left = static_cast<std::uint32_t>(size - at);
      return builder_.sequence({builder_.repeat(digit('0', '9'), left, left), point(false, false)});
    }
    const char least = at == 0 && size > 1 ? '1' : '0';
    return digits(at_low ? low_.whole[at] : least, at_high ? high_->whole[at] : '9', at_low,
                  at_high, [&](bool low, bool high) { return whole(size, at + 1, low, high); });
  }

  /// Whether the number may end after this many digits behind the point.
  [[nodiscard]] bool may_end(std::size_t at, bool at_low, bool at_high) const {
    const bool above = !at_low || (low_.ends_before(at) && !low_.excluded);
    const bool below = !at_high || !high_->ends_before(at) || !high_->excluded;
    return above && below;
  }

  Part point(bool at_low, bool at_high) {
    std::vector<Part> parts;
    if (may_end(0, at_low, at_high)) parts.emplace_back();
    if (most_ > 0) {
      parts.push_back(builder_.sequence({builder_.literal("."), fraction(0, at_low, at_high)}));
    }
    return builder_.any_of(parts);
  }

  /// Returns one more digit after the point, and further ones.
  Part fraction(std::uint32_t at, bool at_low, bool at_high) {
    if (!at_low && !at_high) return builder_.repeat(digit('0', '9'), 1, most_ - at);
    const auto [found, is_new] = fractions_.try_emplace({at, at_low, at_high});
    if (!is_new) return found->second;
    const Part made =
        digits(at_low ? low_.digit_behind(at) : '0', at_high ? high_->digit_behind(at) : '9',
               at_low, at_high, [&](bool low, bool high) { return after(at + 1, low, high); });
    return fractions_[{at, at_low, at_high}] = made;
  }

  Part after(std::uint32_t at, bool at_low, bool at_high) {
    std::vector<Part> parts;
    if (may_end(at, at_low, at_high)) parts.emplace_back();
    if (at < most_) parts.push_back(fraction(at, at_low, at_high));
    return builder_.any_of(parts);
  }

  GrammarBuilder& builder_;
  const Magnitude low_;
  const Magnitude* const high_;
  const std::uint32_t most_;
  std::map<std::pair<char, char>, Part> digits_;
  std::map<std::tuple<std::uint32_t, bool, bool>, Part> fractions_;
};

bool is_below(const Magnitude& a, const Magnitude& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size();
  return std::tie(a.whole, a.fraction) < std::tie(b.whole, b.fraction);
}

}  // namespace

bool is_negative(const NumberBound& bound) {
  return bound.decimal[0] == '-' && bound.decimal.find_first_not_of("-0.") != std::string::npos;
}

GrammarBuilder::Part number_between(GrammarBuilder& builder, const std::optional<NumberBound>& low,
                                    const std::optional<NumberBound>& high,
                                    std::uint32_t fraction_digits) {
  std::vector<Part> parts;
  const auto magnitude = [](const NumberBound& bound) {
    const std::string_view text = bound.decimal;
    return magnitude_of(text[0] == '-' ? text.substr(1) : text, bound.excluded);
  };
  const auto add = [&](std::string_view sign, const Magnitude& from, const Magnitude* to) {
    if (to != nullptr && is_below(*to, from)) return;
    const Part range = MagnitudeRange(builder, from, to, fraction_digits).part();
    parts.push_back(builder.sequence({builder.literal(sign), range}));
  };
  if (!high || !is_negative(*high)) {
    const bool is_above = low && !is_negative(*low);
    const Magnitude from = is_above ? magnitude(*low) : Magnitude{};
    const Magnitude to = high ? magnitude(*high) : Magnitude{};
    add("", from, high ? &to : nullptr);
  }
  if (!low || is_negative(*low)) {
    const bool is_below_zero = high && is_negative(*high);
    const Magnitude from = is_below_zero ? magnitude(*high) : Magnitude{.excluded = true};
    const Magnitude to = low ? magnitude(*low) : Magnitude{};
    add("-", from, low ? &to : nullptr);
  }
  return builder.any_of(parts);
}

}  // namespace weft::grammar
