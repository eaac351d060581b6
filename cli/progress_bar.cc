#include "weft/cli/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <utility>

namespace weft::cli {
namespace {

using std::chrono::steady_clock;

// The time between two redraws; a terminal shows no more a second.
constexpr std::chrono::milliseconds kBetween{50};
constexpr const char* kErased = "\r\x1b[K";  // back, and erase to the end of the line
constexpr const char* kErasedRest = "\x1b[K";
constexpr int kDefaultWidth = 80;
constexpr double kGigabyte = 1e9;

int terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultWidth;
  return size.ws_col;
}

double part_of(std::int64_t done, std::int64_t total) {
  if (total <= 0) return 1.0;
  return std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
}

/// Makes a line of label, bar and numbers. Where there is no room for a bar, the label and numbers
/// are cut to fit.
std::string bar_line(const std::string& label, double part, const std::string& numbers, int width) {
  std::ostringstream percent;
  percent << std::fixed << std::setprecision(0) << std::setw(4) << part * 100 << " %  ";
  const std::string after = percent.str() + numbers;
  const auto used = static_cast<int>(label.size() + after.size()) + 4;
  // One column stays free, because some terminals wrap a line that is as wide as they are.
  const int bar = width - used - 1;
  if (bar < 4) return (label + after).substr(0, static_cast<std::size_t>(std::max(width - 1, 0)));
  const auto filled = static_cast<std::size_t>(part * bar);
  std::string drawn(filled, '=');
  if (filled < static_cast<std::size_t>(bar)) drawn += '>';
  drawn.resize(static_cast<std::size_t>(bar), ' ');
  return label + "  [" + drawn + "]" + after;
}

/// Writes "17 s", "3 min 05 s" or "2 h 04 min".
std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  const bool hours = whole >= 3600;
  const std::int64_t great = whole / (hours ? 3600 : 60);
  const std::int64_t small = hours ? whole / 60 % 60 : whole % 60;
  std::ostringstream text;
  text << great << (hours ? " h " : " min ") << std::setw(2) << std::setfill('0') << small
       << (hours ? " min" : " s");
  return text.str();
}

}  // namespace

std::string progress_line(const std::string& label, std::int64_t done, std::int64_t total,
                          double seconds, int width) {
  std::ostringstream numbers;
  numbers << std::fixed << std::setprecision(2) << static_cast<double>(done) / kGigabyte << " of "
          << static_cast<double>(total) / kGigabyte << " GB";
  if (seconds > 0) {
    numbers << "  " << static_cast<double>(done) / kGigabyte / seconds << " GB/s";
  }
  return bar_line(label, part_of(done, total), numbers.str(), width);
}

std::string count_line(const std::string& label, std::int64_t done, std::int64_t total,
                       double seconds, int width) {
  std::ostringstream numbers;
  numbers << done << " of " << total;
  if (seconds > 0 && done > 0) {
    const double rate = static_cast<double>(done) / seconds;
    numbers << std::fixed << std::setprecision(1) << "  " << rate << "/s  "
            << duration(static_cast<double>(total - done) / rate) << " left";
  }
  return bar_line(label, part_of(done, total), numbers.str(), width);
}

ProgressBar::ProgressBar(std::string label) : ProgressBar(std::move(label), progress_line) {}

ProgressBar::ProgressBar(std::string label, Picture picture)
    : label_(std::move(label)),
      picture_(picture),
      on_terminal_(::isatty(STDERR_FILENO) == 1),
      started_(steady_clock::now()),
      drawn_at_(started_ - kBetween) {}

ProgressBar::~ProgressBar() {
  if (!line_.empty()) std::cerr << kErased << std::flush;
}

void ProgressBar::show(std::int64_t done, std::int64_t total) {
  if (!on_terminal_) return;
  const auto now = steady_clock::now();
  if (now - drawn_at_ < kBetween && done < total) return;
  const std::chrono::duration<double> took = now - started_;
  line_ = picture_(label_, done, total, took.count(), terminal_width());
  // The rest of the line is erased, in case the line before was longer.
  std::cerr << '\r' << line_ << kErasedRest << std::flush;
  drawn_at_ = now;
}

void ProgressBar::note(std::string_view text) {
  if (!line_.empty()) std::cerr << kErased;
  std::cerr << text << '\n' << line_ << std::flush;
}

}  // namespace weft::cli
