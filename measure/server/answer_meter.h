#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "weft/core/time/clock.h"
#include "weft/measure/load/outcome.h"
#include "weft/measure/server/answer_event.h"

namespace weft::measure {

/// One request under way: what comes of it becomes its Outcome. It ends once; what comes after that
/// is not looked at. Owner only.
class AnswerMeter {
 public:
  /// Told at the end, the last of all. `detail` are the server's or the system's words about an
  /// error.
  using OnEnd = std::function<void(Outcome outcome, const std::string& detail)>;

  /// It is sent now, as what `begun` has of it says. Times count from `since`.
  AnswerMeter(Outcome begun, TimePoint since, OnEnd on_end);

  void add(const AnswerEvent& event, TimePoint at);
  /// Nothing more comes: it is done when it was finished, else it was cut off.
  void end(TimePoint at);
  /// Of `kind` and `detail` as much is kept as a report shows.
  void fail(std::string kind, const std::string& detail, TimePoint at);

  [[nodiscard]] bool ended() const noexcept { return on_end_ == nullptr; }
  /// That have come so far.
  [[nodiscard]] std::size_t pieces() const noexcept { return outcome_.came.size(); }
  [[nodiscard]] const Arrival& asked() const noexcept { return outcome_.asked; }

 private:
  [[nodiscard]] double seconds(TimePoint at) const noexcept;
  void finish(const std::string& detail);

  Outcome outcome_;
  const TimePoint since_;
  OnEnd on_end_;
  bool finished_ = false;
  bool counted_ = false;  // by the server
};

}  // namespace weft::measure
