#include "weft/measure/load/trace_line.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

namespace weft::measure {
namespace {

namespace dom = simdjson::dom;

// More tokens than any model's context has.
constexpr std::int64_t kMostLineTokens = 1 << 24;
// The longest line that is read. Mooncake's own have up to 3 KiB: a number for each 512 tokens of a
// prompt.
constexpr std::size_t kMostLineBytes = 1U << 20U;
constexpr std::size_t kMostDepth = 16;
// The longest time from a trace's beginning: ten years, whose nanoseconds stay far from overflow.
constexpr double kMostMilliseconds = 10 * 365.25 * 24 * 3600 * 1000;

constexpr std::string_view kBadTokens = "a number of tokens is a whole one from 0 to 16777216";
constexpr std::string_view kBadTime =
    "a time is written as 2023-11-16 18:17:03.9799600, with up to nine decimals";

template <class Number>
std::optional<Number> json_number(std::string_view text) {
  Number number{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<std::int32_t> tokens_in_line(std::optional<std::int64_t> number) {
  if (!number || *number < 0 || *number > kMostLineTokens) return std::nullopt;
  return static_cast<std::int32_t>(*number);
}

/// Takes `count` digits off the front of `text`, and `end` after them where that is not 0. Returns
/// the digits' value, or -1 where something else stands there.
int take_digits(std::string_view& text, std::size_t count, char end) {
  const std::size_t whole = count + (end != 0 ? 1 : 0);
  if (text.size() < whole || (end != 0 && text[count] != end)) return -1;
  const auto number = json_number<int>(text.substr(0, count));
  text.remove_prefix(whole);
  return number.value_or(-1);
}

/// Reads ".9799600" as nanoseconds; an empty text is 0.
std::optional<std::int64_t> fraction_of(std::string_view text) {
  constexpr std::size_t kDecimals = 9;
  if (text.empty()) return 0;
  if (text.front() != '.' || text.size() < 2 || text.size() > kDecimals + 1) return std::nullopt;
  text.remove_prefix(1);
  auto value = json_number<std::int64_t>(text);
  if (!value || *value < 0 || text.front() == '-') return std::nullopt;
  for (std::size_t i = text.size(); i < kDecimals; ++i) *value *= 10;
  return value;
}

/// Reads a time as nanoseconds since 1970.
std::optional<std::int64_t> time_of(std::string_view text) {
  namespace chrono = std::chrono;
  constexpr std::string_view kUtc = "+00:00";
  if (text.ends_with(kUtc)) text.remove_suffix(kUtc.size());
  const int year = take_digits(text, 4, '-');
  const int month = take_digits(text, 2, '-');
  const int day = take_digits(text, 2, ' ');
  const int hour = take_digits(text, 2, ':');
  const int minute = take_digits(text, 2, ':');
  const int second = take_digits(text, 2, 0);
  const auto fraction = fraction_of(text);
  // Nanoseconds from 1970 fit into 63 bits until 2262.
  if (year < 1970 || year > 2200 || month < 0 || day < 0 || !fraction) return std::nullopt;
  const chrono::year_month_day date(chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day)));
  const bool in_day =
      hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
  if (!date.ok() || !in_day) return std::nullopt;
  const auto time = chrono::sys_days(date) + chrono::hours(hour) + chrono::minutes(minute) +
                    chrono::seconds(second);
  return chrono::nanoseconds(time.time_since_epoch()).count() + *fraction;
}

std::optional<std::int64_t> whole_field(dom::object object, std::string_view name) {
  std::int64_t number = 0;
  if (object[name].get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

}  // namespace

std::string_view read_azure_line(std::string_view line, TraceLine& read) {
  const auto first = line.find(',');
  const auto second = line.find(',', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) {
    return "a line has three fields: time, context tokens, generated tokens";
  }
  const auto at = time_of(line.substr(0, first));
  const auto prompt =
      tokens_in_line(json_number<std::int64_t>(line.substr(first + 1, second - first - 1)));
  const auto output = tokens_in_line(json_number<std::int64_t>(line.substr(second + 1)));
  if (!at) return kBadTime;
  if (!prompt || !output) return kBadTokens;
  read = {*at, *prompt, *output};
  return "";
}

std::string_view MooncakeReader::read(std::string_view line, TraceLine& read) {
  if (line.size() > kMostLineBytes) return "a line is longer than 1 MiB";
  if (parser_.max_depth() != kMostDepth &&
      parser_.allocate(line.size(), kMostDepth) != simdjson::SUCCESS) {
    return "there is no memory to read it";
  }
  dom::element element;
  const simdjson::error_code error = parser_.parse(line.data(), line.size()).get(element);
  if (error != simdjson::SUCCESS) return simdjson::error_message(error);
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return "a line is one JSON object";
  double milliseconds = 0;
  if (object["timestamp"].get(milliseconds) != simdjson::SUCCESS || milliseconds < 0 ||
      milliseconds > kMostMilliseconds) {
    return "timestamp is a number of milliseconds, 0 or more and less than ten years";
  }
  const auto prompt = tokens_in_line(whole_field(object, "input_length"));
  const auto output = tokens_in_line(whole_field(object, "output_length"));
  if (!prompt) return "input_length: a number of tokens is a whole one from 0 to 16777216";
  if (!output) return "output_length: a number of tokens is a whole one from 0 to 16777216";
  read = {std::llround(milliseconds * 1e6), *prompt, *output};
  return "";
}

}  // namespace weft::measure
