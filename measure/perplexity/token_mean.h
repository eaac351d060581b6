#pragma once

#include <cmath>
#include <cstdint>

namespace weft::measure {

/// The mean of numbers that come one by one, and its standard error if they are independent. Owner
/// only.
class TokenMean {
 public:
  void add(double value) noexcept {
    ++count_;
    const double before = value - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (value - mean_);  // Welford's sum, which needs no difference of large
                                           // numbers
  }

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] double mean() const noexcept { return mean_; }
  /// 0 for fewer than two numbers.
  [[nodiscard]] double error() const noexcept {
    if (count_ < 2) return 0;
    const auto n = static_cast<double>(count_);
    return std::sqrt(squares_ / (n - 1) / n);
  }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace weft::measure
