#include "weft/text/jinja/builtins/strftime.h"

#include <algorithm>
#include <array>

namespace weft::jinja {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

class TimeFormat {
 public:
  explicit TimeFormat(std::chrono::local_seconds time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    year_ = static_cast<int>(date.year());
    month_ = static_cast<int>(static_cast<unsigned>(date.month()));
    day_ = static_cast<int>(static_cast<unsigned>(date.day()));
    weekday_ = static_cast<int>(std::chrono::weekday(day).c_encoding());
    const std::chrono::local_days new_year(date.year() / 1 / 1);
    year_day_ = static_cast<int>((day - new_year).count());
    hour_ = static_cast<int>(clock.hours().count());
    minute_ = static_cast<int>(clock.minutes().count());
    second_ = static_cast<int>(clock.seconds().count());
  }

  bool append(std::string& out, std::string_view format) const {
    while (!format.empty()) {
      const std::size_t plain = std::min(format.find('%'), format.size());
      out += format.substr(0, plain);
      format.remove_prefix(plain);
      if (format.empty()) break;
      format.remove_prefix(1);
      char flag = 0;
      if (!format.empty() &&
          std::string_view("-_0^").find(format.front()) != std::string_view::npos) {
        flag = format.front();
        format.remove_prefix(1);
      }
      if (format.empty() || !directive(out, format.front(), flag)) return false;
      format.remove_prefix(1);
    }
    return true;
  }

 private:
  static void number(std::string& out, int value, int width, char flag, char pad = '0') {
    std::string digits = std::to_string(value);
    if (flag == '_') pad = ' ';
    if (flag == '0') pad = '0';
    const auto wanted = static_cast<std::size_t>(flag == '-' ? 0 : width);
    if (digits.size() < wanted) out.append(wanted - digits.size(), pad);
    out += digits;
  }

  static void name(std::string& out, std::string_view text, char flag) {
    for (const char c : text) {
      out += flag == '^' && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }

  /// ISO 8601's week, and the year of its Thursday, to which the week belongs.
  struct IsoWeek {
    int year;
    int week;
  };

  [[nodiscard]] IsoWeek iso_week() const {
    const std::chrono::local_days today(std::chrono::year(year_) / month_ / day_);
    const auto thursday = today - std::chrono::days((weekday_ + 6) % 7 - 3);
    const auto year = std::chrono::year_month_day(thursday).year();
    const auto since = thursday - std::chrono::local_days(year / 1 / 1);
    return {static_cast<int>(year), static_cast<int>(since.count() / 7 + 1)};
  }

  [[nodiscard]] int hour_of_twelve() const { return hour_ % 12 == 0 ? 12 : hour_ % 12; }

  bool directive(std::string& out, char which, char flag) const {
    switch (which) {
      case 'a':
        name(out, kDays[static_cast<std::size_t>(weekday_)].substr(0, 3), flag);
        break;
      case 'A':
        name(out, kDays[static_cast<std::size_t>(weekday_)], flag);
        break;
      case 'b':
      case 'h':
        name(out, kMonths[static_cast<std::size_t>(month_ - 1)].substr(0, 3), flag);
        break;
      case 'B':
        name(out, kMonths[static_cast<std::size_t>(month_ - 1)], flag);
        break;
      case 'p':
        name(out, hour_ < 12 ? "AM" : "PM", flag);
        break;
      case 'f':
        out += "000000";
        break;
      case 'z':
      case 'Z':
        break;  // the time has no zone
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case '%':
        out += '%';
        break;
      default:
        return composed(out, which) || counted(out, which, flag);
    }
    return true;
  }

  bool composed(std::string& out, char which) const {
    switch (which) {
      case 'c':
        return append(out, "%a %b %e %H:%M:%S %Y");
      case 'D':
      case 'x':
        return append(out, "%m/%d/%y");
      case 'F':
        return append(out, "%Y-%m-%d");
      case 'R':
        return append(out, "%H:%M");
      case 'r':
        return append(out, "%I:%M:%S %p");
      case 'T':
      case 'X':
        return append(out, "%H:%M:%S");
      default:
        return false;
    }
  }

  bool counted(std::string& out, char which, char flag) const {
    switch (which) {
      case 'Y':
        number(out, year_, 1, flag);
        break;
      case 'C':
        number(out, year_ / 100, 2, flag);
        break;
      case 'y':
        number(out, year_ % 100, 2, flag);
        break;
      case 'm':
        number(out, month_, 2, flag);
        break;
      case 'd':
        number(out, day_, 2, flag);
        break;
      case 'e':
        number(out, day_, 2, flag, ' ');
        break;
      case 'H':
        number(out, hour_, 2, flag);
        break;
      case 'k':
        number(out, hour_, 2, flag, ' ');
        break;
      case 'I':
        number(out, hour_of_twelve(), 2, flag);
        break;
      case 'l':
        number(out, hour_of_twelve(), 2, flag, ' ');
        break;
      case 'M':
        number(out, minute_, 2, flag);
        break;
      case 'S':
        number(out, second_, 2, flag);
        break;
      case 'j':
        number(out, year_day_ + 1, 3, flag);
        break;
      case 'u':
        number(out, weekday_ == 0 ? 7 : weekday_, 1, flag);
        break;
      case 'w':
        number(out, weekday_, 1, flag);
        break;
      case 'U':
        number(out, (year_day_ + 7 - weekday_) / 7, 2, flag);
        break;
      case 'W':
        number(out, (year_day_ + 7 - (weekday_ + 6) % 7) / 7, 2, flag);
        break;
      case 'V':
        number(out, iso_week().week, 2, flag);
        break;
      case 'G':
        number(out, iso_week().year, 1, flag);
        break;
      case 'g':
        number(out, iso_week().year % 100, 2, flag);
        break;
      default:
        return false;
    }
    return true;
  }

  int year_ = 0;
  int month_ = 0;
  int day_ = 0;
  int weekday_ = 0;  ///< Counted from Sunday.
  int year_day_ = 0;
  int hour_ = 0;
  int minute_ = 0;
  int second_ = 0;
};

}  // namespace

std::optional<std::string> format_time(std::chrono::local_seconds time, std::string_view format) {
  std::string out;
  if (!TimeFormat(time).append(out, format)) return std::nullopt;
  return out;
}

}  // namespace weft::jinja
