#include "weft/cli/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <utility>

namespace weft::cli {
namespace {

using std::chrono::steady_clock;

// A terminal shows no more pictures a second than this anyway.
constexpr std::chrono::milliseconds kBetween{50};
constexpr int kDefaultWidth = 80;
constexpr double kGigabyte = 1e9;

int terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultWidth;
  return size.ws_col;
}

}  // namespace

std::string progress_line(const std::string& label, std::int64_t done, std::int64_t total,
                          double seconds, int width) {
  const double part =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0)
                : 1.0;
  std::ostringstream numbers;
  numbers << std::fixed << std::setprecision(0) << std::setw(4) << part * 100 << " %  "
          << std::setprecision(2) << static_cast<double>(done) / kGigabyte << " of "
          << static_cast<double>(total) / kGigabyte << " GB";
  if (seconds > 0) {
    numbers << "  " << static_cast<double>(done) / kGigabyte / seconds << " GB/s";
  }
  const auto used = static_cast<int>(label.size() + numbers.str().size()) + 4;
  // One column stays free: a line as wide as the terminal wraps on some.
  const int bar = width - used - 1;
  if (bar < 4)
    return (label + numbers.str()).substr(0, static_cast<std::size_t>(std::max(width - 1, 0)));
  const auto filled = static_cast<std::size_t>(part * bar);
  std::string drawn(filled, '=');
  if (filled < static_cast<std::size_t>(bar)) drawn += '>';
  drawn.resize(static_cast<std::size_t>(bar), ' ');
  return label + "  [" + drawn + "]" + numbers.str();
}

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)),
      on_terminal_(::isatty(STDERR_FILENO) == 1),
      started_(steady_clock::now()),
      drawn_at_(started_ - kBetween) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;  // back, and erase to the end of the line
}

void ProgressBar::show(std::int64_t done, std::int64_t total) {
  if (!on_terminal_) return;
  const auto now = steady_clock::now();
  if (now - drawn_at_ < kBetween && done < total) return;
  const std::chrono::duration<double> took = now - started_;
  std::cerr << '\r' << progress_line(label_, done, total, took.count(), terminal_width())
            << std::flush;
  drawn_at_ = now;
  drawn_ = true;
}

}  // namespace weft::cli
