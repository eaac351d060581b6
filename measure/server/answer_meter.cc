#include "weft/measure/server/answer_meter.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft::measure {
namespace {

// Room that is made ready for an answer's times; a trace may ask for more tokens than will come.
constexpr std::int32_t kMostReserved = 4096;
// How much is kept of an error, whose words are a server's: as much as a table's cell holds, and as
// much as a person would read.
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
  // Events after the last piece, such as the usage, do not delay the end: no reader waits for them.
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
  // It ends before the call, since the callee may let go of this object.
  std::exchange(on_end_, nullptr)(std::move(outcome_), detail);
}

}  // namespace weft::measure
