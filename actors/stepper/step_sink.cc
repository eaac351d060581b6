#include "weft/actors/stepper/step_sink.h"

#include <new>
#include <string>
#include <utility>

#include "weft/actors/engine_error.h"

namespace weft {
namespace {

Delta copy_of(const DeltaView& view) {
  return {.choice = view.choice,
          .text = std::string(view.text),
          .marks = {view.marks.begin(), view.marks.end()},
          .tokens = {view.tokens.begin(), view.tokens.end()},
          .logprobs = {view.logprobs.begin(), view.logprobs.end()},
          .token_texts = {view.token_texts.begin(), view.token_texts.end()},
          .top = {view.top.begin(), view.top.end()},
          .top_per_token = view.top_per_token};
}

}  // namespace

void StepSink::deliver(const DeltaView& delta) noexcept {
  if (lost_ || !outputs_.open()) return;
  try {
    mine().deltas.push_back(copy_of(delta));
  } catch (const std::bad_alloc&) {
    lost_ = true;
    if (const auto request = request_.lock()) request->ask_to_end(EndCause::kFailure);
  }
}

void StepSink::finish(Finish&& finish) noexcept {
  if (!outputs_.open()) return;
  StepOutput& output = mine();
  output.end = std::move(finish);
  if (lost_) {
    output.end->reason = FinishReason::kError;
    output.end->error = {EngineErrc::kInternal, "output not kept"};  // short: it allocates nothing
  }
}

StepOutput& StepSink::mine() noexcept {
  if (step_ != outputs_.step()) {
    step_ = outputs_.step();
    place_ = outputs_.add(id_);
  }
  return outputs_.at(place_);
}

}  // namespace weft
