#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "weft/core/time/clock.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/server/answer_event.h"

namespace weft::measure {

/// One request under way, whose events are collected in its Outcome. It ends once and ignores later
/// events. Owner only.
class AnswerMeter {
 public:
  /// Called at the end, as the last thing. `detail` has the server's or the system's words about an
  /// error.
  using OnEnd = std::function<void(Outcome outcome, const std::string& detail)>;

  /// `begun` has the facts that are known when the request is sent. Times count from `since`.
  AnswerMeter(Outcome begun, TimePoint since, OnEnd on_end);

  void add(const AnswerEvent& event, TimePoint at);
  /// Called when the connection ends: the request succeeded if its answer was finished, else it was
  /// cut off.
  void end(TimePoint at);
  /// Called when the request failed. `kind` and `detail` are kept as far as a report shows them.
  void fail(std::string kind, const std::string& detail, TimePoint at);

  [[nodiscard]] bool ended() const noexcept { return on_end_ == nullptr; }
  /// The number of pieces that have come so far.
  [[nodiscard]] std::size_t pieces() const noexcept { return outcome_.came.size(); }
  [[nodiscard]] const Arrival& asked() const noexcept { return outcome_.asked; }

 private:
  [[nodiscard]] double seconds(TimePoint at) const noexcept;
  void finish(const std::string& detail);

  Outcome outcome_;
  const TimePoint since_;
  OnEnd on_end_;
  bool finished_ = false;
  bool counted_ = false;  // the server has counted the tokens
};

}  // namespace weft::measure
