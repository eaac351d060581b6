#include "weft/grammar/schema/multiples.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::grammar {
namespace {

/// States of one automaton: 20,000 take 2 MB, half of what a grammar may have.
constexpr std::size_t kMostStates = 20'000;
/// States for numbers without a bound; when more would be needed, such numbers get fewer digits.
constexpr std::size_t kStatesOfUnbounded = 6'000;
/// Digits before the point that numbers without a bound always have.
constexpr std::size_t kLeastWholeDigits = 7;

/// Groups remainders that behave equally for all following digits into numbered classes. Remainders
/// are distinguished first by acceptance, then by the classes that digits lead to, until nothing
/// changes (Moore, "Gedanken-experiments on sequential machines", 1956).
class Remainders {
 public:
  explicit Remainders(const Divisor& divisor)
      : divisor_(divisor.whole), fraction_digits_(divisor.fraction_digits), class_of_(divisor_) {
    for (std::uint64_t rest = 0; rest < divisor_; ++rest) class_of_[rest] = zeros_needed(rest);
    for (std::size_t before = 0, now = renumber(class_of_); before != now;) {
      before = now;
      now = refine();
    }
    member_.resize(1 + *std::ranges::max_element(class_of_));
    for (std::uint64_t rest = 0; rest < divisor_; ++rest) member_[class_of_[rest]] = rest;
  }

  [[nodiscard]] std::size_t count() const { return member_.size(); }
  [[nodiscard]] std::uint32_t zero() const { return class_of_[0]; }
  [[nodiscard]] std::uint32_t after(std::uint32_t one, std::uint32_t digit) const {
    return class_of_[(member_[one] * 10 + digit) % divisor_];
  }
  /// Returns whether a number is a multiple when the given number of its digits is left unwritten.
  [[nodiscard]] bool ends(std::uint32_t one, std::uint32_t unwritten) const {
    return zeros_needed(member_[one]) <= unwritten;
  }

 private:
  /// Returns how many zeros make a multiple; more than fraction_digits_: no number of zeros does.
  [[nodiscard]] std::uint32_t zeros_needed(std::uint64_t rest) const {
    std::uint32_t zeros = 0;
    for (; rest != 0 && zeros <= fraction_digits_; ++zeros) rest = rest * 10 % divisor_;
    return zeros;
  }

  /// Numbers the classes from 0 on and returns their number.
  template <class Key>
  std::size_t renumber(const std::vector<Key>& keys) {
    std::map<Key, std::uint32_t> numbers;
    std::vector<std::uint32_t> classes(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      classes[i] =
          numbers.try_emplace(keys[i], static_cast<std::uint32_t>(numbers.size())).first->second;
    }
    class_of_ = std::move(classes);
    return numbers.size();
  }

  std::size_t refine() {
    std::vector<std::array<std::uint32_t, 11>> keys(divisor_);
    for (std::uint64_t rest = 0; rest < divisor_; ++rest) {
      keys[rest][10] = class_of_[rest];
      for (std::uint64_t digit = 0; digit < 10; ++digit) {
        keys[rest][digit] = class_of_[(rest * 10 + digit) % divisor_];
      }
    }
    return renumber(keys);
  }

  const std::uint64_t divisor_;
  const std::uint32_t fraction_digits_;
  std::vector<std::uint32_t> class_of_;
  std::vector<std::uint64_t> member_;  ///< one remainder from each class
};

/// Adds 1 to decimal digits.
void increment(std::string& digits) {
  for (std::size_t i = digits.size(); i > 0; --i) {
    if (digits[i - 1] != '9') {
      ++digits[i - 1];
      return;
    }
    digits[i - 1] = '0';
  }
  digits.insert(digits.begin(), '1');
}

/// Subtracts 1 from decimal digits, which are not all zeros.
void decrement(std::string& digits) {
  for (std::size_t i = digits.size(); i > 0; --i) {
    if (digits[i - 1] != '0') {
      --digits[i - 1];
      break;
    }
    digits[i - 1] = '9';
  }
}

bool is_zero(std::string_view digits) {
  return digits.find_first_not_of('0') == std::string_view::npos;
}

/// A bound's absolute value in units of the last written digit.
struct Scaled {
  std::string digits;  ///< includes the digits after the point, and at least one before it
  bool exact = true;   ///< false: the bound is above `digits` by less than a unit
};

Scaled scaled(std::string_view decimal, std::uint32_t fraction_digits) {
  if (decimal[0] == '-') decimal.remove_prefix(1);
  const std::size_t point = std::min(decimal.find('.'), decimal.size());
  std::string fraction(decimal.substr(std::min(point + 1, decimal.size())));
  const std::string_view rest =
      std::string_view(fraction).substr(std::min<std::size_t>(fraction.size(), fraction_digits));
  const bool exact = is_zero(rest);
  fraction.resize(fraction_digits, '0');
  return {std::string(decimal.substr(0, point)) + fraction, exact};
}

/// The magnitudes from low to high, both included.
struct Interval {
  std::string low;
  std::optional<std::string> high;  ///< nothing: only the number of digits is limited
};

/// Orders digits as numbers: "07" is before "10".
bool is_less(const std::string& a, const std::string& b) {
  const auto trimmed = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('0'), text.size()));
  };
  const std::string_view x = trimmed(a);
  const std::string_view y = trimmed(b);
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

/// Returns the digits before the point, without leading zeros.
void strip_zeros(std::string& digits, std::uint32_t fraction_digits) {
  const std::size_t most = digits.size() - fraction_digits - 1;
  digits.erase(0, std::min(most, std::min(digits.find_first_not_of('0'), digits.size())));
}

/// Returns the magnitudes at or above `from` and at or below `to`, where these bounds exist.
std::optional<Interval> interval(const std::optional<NumberBound>& from,
                                 const std::optional<NumberBound>& to, bool without_zero,
                                 std::uint32_t fraction_digits) {
  Interval result{std::string(1 + fraction_digits, '0'), std::nullopt};
  if (without_zero) increment(result.low);
  if (from) {
    Scaled low = scaled(from->decimal, fraction_digits);
    if (!low.exact || from->excluded) increment(low.digits);
    if (is_less(result.low, low.digits)) result.low = std::move(low.digits);
  }
  strip_zeros(result.low, fraction_digits);
  if (!to) return result;
  Scaled high = scaled(to->decimal, fraction_digits);
  if (high.exact && to->excluded) {
    if (is_zero(high.digits)) return std::nullopt;
    decrement(high.digits);
  }
  strip_zeros(high.digits, fraction_digits);
  if (is_less(high.digits, result.low)) return std::nullopt;
  result.high = std::move(high.digits);
  return result;
}

/// Writes the automaton of magnitudes, digit by digit. A state knows the class of the remainder,
/// the number of digits so far, and how the digits compare with the digits of the bounds.
class MagnitudeWriter {
 public:
  MagnitudeWriter(DfaDraft& draft, const Remainders& remainders, const Divisor& divisor,
                  Interval interval, std::size_t whole_digits)
      : draft_(draft),
        remainders_(remainders),
        fraction_digits_(divisor.fraction_digits),
        interval_(std::move(interval)),
        low_whole_(interval_.low.size() - fraction_digits_),
        high_whole_(interval_.high ? interval_.high->size() - fraction_digits_
                                   : std::max(whole_digits, needed(interval_, low_whole_))),
        most_(std::min(high_whole_, std::max(whole_digits, needed(interval_, low_whole_)))) {}

  /// Returns false when there are too many states.
  bool write(std::uint32_t start) {
    Place first;
    first.remainder = remainders_.zero();
    first.low = is_zero(interval_.low) ? 1 : 0;
    first.high = interval_.high ? 0 : -1;
    known_.emplace(first.key(), start);
    open_.push_back(first);
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (draft_.states() > kMostStates) return false;
      add_edges(open_[i]);
    }
    return true;
  }

 private:
  /// Returns the digits before the point that a multiple above the lower bound may need.
  static std::size_t needed(const Interval& interval, std::size_t low_whole) {
    return is_zero(interval.low) ? low_whole : low_whole + 1;
  }

  struct Place {
    bool in_fraction = false;
    std::size_t digits = 0;  ///< digits so far in this part of the number
    std::uint32_t remainder = 0;
    int low = 0;           ///< how the digits compare with the lower bound's: -1, 0, 1
    int high = 0;          ///< how the digits compare with the upper bound's; -1 without one
    bool is_zero = false;  ///< the whole part is the single digit 0

    /// Returns a number that only this place has.
    [[nodiscard]] std::uint64_t key() const {
      const auto compared = static_cast<std::uint64_t>((low + 1) * 3 + high + 1);
      const std::uint64_t flags = (in_fraction ? 2U : 0U) + (is_zero ? 1U : 0U);
      return ((digits * 16 + compared) * 4 + flags) << 32U | remainder;
    }
  };

  std::uint32_t state_of(const Place& place) {
    const auto [found, is_new] = known_.try_emplace(place.key(), 0);
    if (!is_new) return found->second;
    found->second = draft_.add_state(accepts(place));
    open_.push_back(place);
    return found->second;
  }

  [[nodiscard]] static int compared(int before, char digit, char other) {
    if (before != 0) return before;
    return digit < other ? -1 : digit > other ? 1 : 0;
  }

  void add_edges(const Place place) {
    const bool is_start = place.digits == 0 && !place.in_fraction;
    const std::uint32_t from = known_.at(place.key());
    const bool takes_digits = place.in_fraction ? place.digits < fraction_digits_
                                                : place.digits < most_ && !place.is_zero;
    if (takes_digits) {
      for (char digit = '0'; digit <= '9'; ++digit) add_digit(from, place, digit);
    }
    if (!place.in_fraction && !is_start && fraction_digits_ > 0) add_point(from, place);
  }

  void add_digit(std::uint32_t from, const Place& place, char digit) {
    Place next = place;
    ++next.digits;
    next.is_zero = !place.in_fraction && place.digits == 0 && digit == '0';
    next.remainder = remainders_.after(place.remainder, static_cast<std::uint32_t>(digit - '0'));
    const std::size_t low_at = place.digits + (place.in_fraction ? low_whole_ : 0);
    const std::size_t high_at = place.digits + (place.in_fraction ? high_whole_ : 0);
    if (!place.in_fraction && place.digits >= low_whole_) {
      next.low = 1;  // the number has more digits before the point than the lower bound
    } else {
      next.low = compared(place.low, digit, interval_.low[low_at]);
    }
    if (interval_.high) next.high = compared(place.high, digit, (*interval_.high)[high_at]);
    if (place.in_fraction && (next.low < 0 || next.high > 0)) return;
    const auto byte = static_cast<std::uint8_t>(digit);
    draft_.add_edge(from, {byte, byte}, state_of(next));
  }

  /// Returns the comparisons after the end of the whole part.
  [[nodiscard]] std::optional<Place> settled(Place place) const {
    if (place.digits < low_whole_ && !is_zero(interval_.low)) return std::nullopt;
    if (interval_.high && place.digits < high_whole_) place.high = -1;
    if (place.low < 0 || place.high > 0) return std::nullopt;
    return place;
  }

  void add_point(std::uint32_t from, const Place& place) {
    auto next = settled(place);
    if (!next) return;
    next->in_fraction = true;
    next->digits = 0;
    next->is_zero = false;
    draft_.add_edge(from, {'.', '.'}, state_of(*next));
  }

  /// Returns whether a number may end here, with zeros for its unwritten digits.
  [[nodiscard]] bool accepts(const Place& place) const {
    if (place.digits == 0) return false;
    const auto ended = place.in_fraction ? std::optional(place) : settled(place);
    if (!ended) return false;
    const std::size_t written = place.in_fraction ? place.digits : 0;
    if (!remainders_.ends(place.remainder, static_cast<std::uint32_t>(fraction_digits_ - written)))
      return false;
    return ended->low > 0 || is_zero(std::string_view(interval_.low).substr(low_whole_ + written));
  }

  DfaDraft& draft_;
  const Remainders& remainders_;
  const std::size_t fraction_digits_;
  const Interval interval_;
  const std::size_t low_whole_;  ///< digits before the point of the lower bound
  const std::size_t high_whole_;
  const std::size_t most_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
  std::vector<Place> open_;
};

}  // namespace

std::optional<Divisor> read_divisor(const std::string& decimal, bool whole) {
  const std::size_t point = std::min(decimal.find('.'), decimal.size());
  std::string digits = decimal.substr(0, point);
  std::string fraction = point < decimal.size() ? decimal.substr(point + 1) : "";
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  digits += fraction;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty() || digits.size() > 18 || fraction.size() > kMaxFractionDigits) {
    return std::nullopt;
  }
  Divisor divisor{0, static_cast<std::uint32_t>(fraction.size())};
  for (const char digit : digits) {
    divisor.whole = divisor.whole * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  if (whole) {
    // The whole numbers among the multiples of 25 / 10 are the multiples of 5.
    for (; divisor.fraction_digits > 0; --divisor.fraction_digits) {
      divisor.whole /= std::gcd(divisor.whole, std::uint64_t{10});
    }
  }
  if (divisor.whole > kLargestDivisor) return std::nullopt;
  return divisor;
}

std::optional<ByteDfa> multiples_between(const Divisor& divisor,
                                         const std::optional<NumberBound>& low,
                                         const std::optional<NumberBound>& high) {
  const Remainders remainders(divisor);
  const std::size_t whole_digits = std::clamp<std::size_t>(kStatesOfUnbounded / remainders.count(),
                                                           kLeastWholeDigits, kMaxWholeDigits);
  DfaDraft draft;
  const std::uint32_t start = draft.add_state(false);
  const auto write = [&](std::uint32_t from, const std::optional<Interval>& between) {
    return !between ||
           MagnitudeWriter(draft, remainders, divisor, *between, whole_digits).write(from);
  };
  if (!high || !is_negative(*high)) {
    const auto from = low && !is_negative(*low) ? low : std::nullopt;
    if (!write(start, interval(from, high, false, divisor.fraction_digits))) return std::nullopt;
  }
  if (!low || is_negative(*low)) {
    const std::uint32_t minus = draft.add_state(false);
    draft.add_edge(start, {'-', '-'}, minus);
    const auto from = high && is_negative(*high) ? high : std::nullopt;
    if (!write(minus, interval(from, low, true, divisor.fraction_digits))) return std::nullopt;
  }
  return draft.finish();
}

}  // namespace weft::grammar
