#include "weft/measure/server/answer_meter.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft::measure {
namespace {

// The most entries reserved for an answer's times; a trace may ask for more tokens than come.
constexpr std::int32_t kMostReserved = 4096;
// The bytes that are kept of a server's error: of its kind as much as a table's cell holds, and of
// its words as much as a person reads.
constexpr std::size_t kLongestKind = 64;
constexpr std::size_t kLongestDetail = 200;

}  // namespace

AnswerMeter::AnswerMeter(Outcome begun, TimePoint since, OnEnd on_end)
    : outcome_(std::move(begun)), since_(since), on_end_(std::move(on_end)) {
  outcome_.came.reserve(static_cast<std::size_t>(std::min(outcome_.asked.output, kMostReserved)));
}

double AnswerMeter::seconds(TimePoint at) const noexcept {
  return std::chrono::duration<double>(at - since_).count();
}

void AnswerMeter::add(const AnswerEvent& event, TimePoint at) {
  if (ended()) return;
  if (!event.error.empty()) {
    return fail("error " + std::string(event.error), std::string(event.message), at);
  }
  if (event.piece) outcome_.came.push_back(seconds(at));
  // Events after the last piece, such as the usage, do not delay the end, because no reader waits
  // for them.
  if (event.piece || (event.finished && !finished_)) outcome_.end = seconds(at);
  finished_ |= event.finished;
  if (event.prompt) outcome_.prompt = *event.prompt;
  if (event.output) outcome_.output = *event.output;
  counted_ |= event.output.has_value();
}

void AnswerMeter::end(TimePoint at) {
  if (ended()) return;
  if (!finished_) return fail("cut off", "the answer ended before it was finished", at);
  if (!counted_) outcome_.output = static_cast<std::int32_t>(outcome_.came.size());
  finish({});
}

void AnswerMeter::fail(std::string kind, const std::string& detail, TimePoint at) {
  if (ended()) return;
  if (kind.size() > kLongestKind) kind.resize(kLongestKind);
  outcome_.error = std::move(kind);
  outcome_.end = seconds(at);
  if (!counted_) outcome_.output = static_cast<std::int32_t>(outcome_.came.size());
  finish(detail.substr(0, kLongestDetail));
}

void AnswerMeter::finish(const std::string& detail) {
  // on_end_ is cleared before the call, because the callee may destroy this object.
  std::exchange(on_end_, nullptr)(std::move(outcome_), detail);
}

}  // namespace weft::measure
