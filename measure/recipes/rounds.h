#pragma once

#include <utility>
#include <vector>

#include "weft/measure/report/quantile.h"

namespace weft::measure {

/// What was measured several times, everything in turn, once a round. Not empty when it is asked.
template <class Round>
class Rounds {
 public:
  void add(Round round) { rounds_.push_back(std::move(round)); }

  [[nodiscard]] const std::vector<Round>& all() const noexcept { return rounds_; }
  [[nodiscard]] const Round& first() const { return rounds_.front(); }

  /// What each says.
  template <class Of>
  [[nodiscard]] std::vector<double> each(Of&& of) const {
    std::vector<double> values;
    for (const Round& round : rounds_) values.push_back(of(round));
    return values;
  }
  template <class Of>
  [[nodiscard]] double median(Of&& of) const {
    return quantile(each(of), 0.5);
  }

 private:
  std::vector<Round> rounds_;
};

}  // namespace weft::measure
