#include "weft/net/api/fields/time_text.h"

#include <chrono>

namespace weft {
namespace {

void append_padded(std::string& out, std::int64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  out.append(text.size() < digits ? digits - text.size() : 0, '0').append(text);
}

}  // namespace

std::string rfc3339(std::int64_t seconds) {
  const std::chrono::sys_seconds moment{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(moment - day);
  std::string text;
  append_padded(text, static_cast<int>(date.year()), 4);
  text += '-';
  append_padded(text, static_cast<unsigned>(date.month()), 2);
  text += '-';
  append_padded(text, static_cast<unsigned>(date.day()), 2);
  text += 'T';
  append_padded(text, time.hours().count(), 2);
  text += ':';
  append_padded(text, time.minutes().count(), 2);
  text += ':';
  append_padded(text, time.seconds().count(), 2);
  return text + 'Z';
}

}  // namespace weft
