#pragma once

#include <utility>
#include <vector>

#include "weft/measure/report/quantile.h"

namespace weft::measure {

/// The figures of several rounds. In a round everything is measured once, one after the other. At
/// least one round must exist before figures are requested.
template <class Round>
class Rounds {
 public:
  void add(Round round) { rounds_.push_back(std::move(round)); }

  [[nodiscard]] const std::vector<Round>& all() const noexcept { return rounds_; }
  [[nodiscard]] const Round& first() const { return rounds_.front(); }

  /// of(round) for each round.
  template <class Of>
  [[nodiscard]] std::vector<double> each(Of&& of) const {
    std::vector<double> values;
    for (const Round& round : rounds_) values.push_back(of(round));
    return values;
  }
  template <class Of>
  [[nodiscard]] double median(Of&& of) const {
    return measure::median(each(of));
  }

 private:
  std::vector<Round> rounds_;
};

}  // namespace weft::measure
