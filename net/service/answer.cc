#include "weft/net/service/answer.h"

#include <algorithm>
#include <utility>

#include "weft/actors/defaults.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/request/request_bounds.h"

namespace weft {

Answer::Part::Part(Answer& answer, const Request& request)
    : output(request, output_count(request)),
      tokens(prompt_size(request).tokens),
      answer_(answer) {}

void Answer::Part::let_pass(std::shared_ptr<const std::vector<std::string>> not_enforced) noexcept {
  output.let_pass(std::move(not_enforced));
}

void Answer::Part::admit(std::int32_t prompt_tokens) noexcept {
  output.admit(prompt_tokens);
  answer_.thread_.wake(answer_);
}

void Answer::Part::deliver(const DeltaView& delta) noexcept {
  // The reader of a plain answer is woken only at the answer's end.
  bool wake = answer_.call_.framing != Framing::kBody;
  if (!output.deliver(delta)) {
    lost.store(true);
    wake = true;
  }
  if (wake) answer_.thread_.wake(answer_);
}

std::int64_t Answer::Part::cost(const Finish& finish) const noexcept {
  const std::int64_t used = std::int64_t{finish.usage.prompt_tokens} + finish.usage.output_tokens;
  if (used > 0) return used;
  // The server has read the prompt of a refused request, too, and of one that was cancelled while
  // it waited.
  const bool refused = finish.error.code == EngineErrc::kBadRequest ||
                       finish.error.code == EngineErrc::kContextLengthExceeded ||
                       finish.error.code == EngineErrc::kNeverFits;
  if (!refused && finish.reason != FinishReason::kCancelled) return 0;
  return refusal_cost(tokens, answer_.call_.context);
}

void Answer::Part::finish(Finish&& finish) noexcept {
  // Charged here, and not when the client has its answer, so that a client which leaves early pays
  // for its tokens.
  if (answer_.payer_ != nullptr) {
    answer_.payer_->charge(cost(finish), KeyHolder::Time::clock::now());
  }
  output.finish(std::move(finish));
  answer_.thread_.wake(answer_);
}

Answer::Answer(IoThread& thread, ApiCall call, std::shared_ptr<KeyHolder> payer)
    : thread_(thread), call_(std::move(call)), payer_(std::move(payer)) {}

void Answer::start(Engine& engine, Reader& reader) {
  reader_ = &reader;
  engine_ = &engine;
  std::int64_t tokens = 0;
  for (const Request& request : call_.parts) {
    parts_.emplace_back(*this, request);
    tokens += parts_.back().tokens;
  }
  const bool bulk = parts_.size() > 1 && tokens >= tokens_of_bytes(defaults::kLargePromptBytes);
  for (Request& request : call_.parts) request.bulk = bulk;
  submit_more();
  if (parts_.empty()) thread_.wake(*this);
}

void Answer::submit_more() {
  std::size_t next = submitted_.load();
  if (next == parts_.size()) return;
  std::size_t running = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < next; ++i) {
    if (parts_[i].output.finished()) continue;
    ++running;
    tokens += parts_[i].tokens;
  }
  const auto self = std::static_pointer_cast<Answer>(shared_from_this());
  for (; next < parts_.size() && asked_.load() == EndCause::kNone; ++next) {
    tokens += parts_[next].tokens;
    // A stream begins when all parts are admitted.
    const bool fits = tokens <= kMostTokensAtOnce || call_.framing != Framing::kBody;
    if (running == kMostAtOnce || (running > 0 && !fits)) break;
    ++running;
    const std::shared_ptr<RequestSink> sink(self, &parts_[next]);
    parts_[next].handle = engine_->submit(std::move(call_.parts[next]), sink);
    submitted_.store(next + 1);
    // A call of ask_to_end() on another thread reaches only parts that were submitted before it.
    if (const EndCause cause = asked_.load(); cause != EndCause::kNone) {
      parts_[next].handle.ask_to_end(cause);
    }
  }
  if (next == parts_.size()) call_.parts.clear();
}

void Answer::abandon(EndCause cause) noexcept {
  reader_ = nullptr;
  ask_parts(cause);
}

void Answer::ask_to_end(EndCause cause) noexcept {
  ask_parts(cause);
  // Where all submitted parts have ended already, no later event would wake the reader.
  if (submitted_.load() < parts_.size()) thread_.wake(*this);
}

void Answer::ask_parts(EndCause cause) noexcept {
  auto none = EndCause::kNone;
  asked_.compare_exchange_strong(none, cause);
  const std::size_t submitted = submitted_.load();
  for (std::size_t i = 0; i < submitted; ++i) parts_[i].handle.ask_to_end(cause);
}

void Answer::on_wake() {
  for (Part& part : parts_) {
    if (part.lost.load()) part.handle.ask_to_end(EndCause::kFailure);
  }
  if (!ended_) submit_more();
  if (reader_ != nullptr && !ended_) reader_->on_news(*this);
}

void Answer::prefetch() const noexcept {
  if (!parts_.empty()) prefetch_memory(&parts_.front(), sizeof(Part));
  constexpr std::size_t kReader = 320;  // a session, and the beginning of its connection's members
  if (reader_ != nullptr) prefetch_memory(reader_, kReader);
}

std::vector<RequestId> Answer::engine_requests() const {
  std::vector<RequestId> ids;
  const std::size_t submitted = submitted_.load();
  for (std::size_t i = 0; i < submitted; ++i) ids.push_back(parts_[i].handle.id());
  return ids;
}

bool Answer::all(bool (RequestOutput::*is)() const noexcept) const noexcept {
  return std::ranges::all_of(parts_, [is](const Part& part) { return (part.output.*is)(); });
}

const Finish* Answer::failure() const noexcept {
  for (const Part& part : parts_) {
    if (!part.output.finished()) continue;
    const Finish& end = part.output.end();
    if (end.reason == FinishReason::kError || end.reason == FinishReason::kCancelled) return &end;
  }
  return nullptr;
}

bool Answer::cut_short() const noexcept {
  const std::size_t submitted = submitted_.load();
  return asked_.load() != EndCause::kNone && submitted < parts_.size() &&
         std::all_of(
             parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(submitted),
             [](const Part& part) { return part.output.finished(); });
}

void Answer::fetch(EventBatch& out) {
  if (ended_) return;
  if (cut_short() && failure() == nullptr) return fail({.reason = FinishReason::kCancelled}, out);
  // The order of these steps matters. A part that ends meanwhile is left to the next fetch. A
  // failure must not be read as a good end, nor a refusal as a beginning. Output that was delivered
  // before the ends is seen below. A request that has ended counts as admitted, even when its sink
  // was not told so.
  const bool admitted = std::ranges::all_of(
      parts_, [](const Part& part) { return part.output.admitted() || part.output.finished(); });
  const bool finished = all(&RequestOutput::finished);
  const Finish* const failed = failure();
  const bool whole = call_.framing == Framing::kBody;
  if (!begun_) {
    if (failed != nullptr && !whole) return fail(*failed, out);
    if (whole ? !finished && failed == nullptr : !admitted) return;
    begun_ = true;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      call_.writer->admit(i, parts_[i].output.prompt_tokens());
    }
    call_.writer->begin(out);
  }
  fetch_deltas(out);
  if (failed != nullptr) return fail(*failed, out);
  if (finished) fetch_end(out);
}

void Answer::ping(EventBatch& out) {
  pinged_ = true;
  call_.writer->ping(out);
}

void Answer::fetch_deltas(EventBatch& out) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    RequestOutput& output = parts_[i].output;
    for (std::size_t choice = 0; choice < output.choices(); ++choice) {
      if (!output.unread(choice)) continue;
      delta_.choice = static_cast<std::int32_t>(choice);
      delta_.text.clear();
      delta_.marks.clear();
      delta_.tokens.clear();
      delta_.logprobs.clear();
      delta_.token_texts.clear();
      delta_.top.clear();
      output.take(choice, delta_);
      call_.writer->delta(i, delta_, out);
    }
  }
}

std::vector<std::string> Answer::not_enforced() const {
  std::vector<std::string> all;
  for (const Part& part : parts_) {  // the outputs of one call share their schemas
    for (std::string& place : part.output.not_enforced()) {
      if (std::ranges::find(all, place) == all.end()) all.push_back(std::move(place));
    }
  }
  return all;
}

std::vector<Finish> Answer::ends() const {
  std::vector<Finish> ends;
  for (const Part& part : parts_) {
    ends.push_back(part.output.finished() ? part.output.end() : Finish{});
  }
  return ends;
}

void Answer::fetch_end(EventBatch& out) {
  ended_ = true;
  error_ = call_.writer->refuse();
  if (error_) return call_.writer->fail(*error_, ends(), out);
  call_.writer->end(ends(), out);
}

Usage Answer::usage() const noexcept {
  Usage usage;
  for (const Part& part : parts_) {
    if (part.output.finished()) {
      usage.prompt_tokens += part.output.end().usage.prompt_tokens;
      usage.output_tokens += part.output.end().usage.output_tokens;
    } else {
      usage.output_tokens += static_cast<std::int32_t>(part.output.tokens());
    }
  }
  return usage;
}

void Answer::fail(const Finish& finish, EventBatch& out) {
  Error error = finish.error;
  if (!error.code)
    error.code =
        finish.reason == FinishReason::kCancelled ? EngineErrc::kCancelled : EngineErrc::kInternal;
  error_ = api_error_of(error, finish.retry_after);
  ended_ = true;
  // A stream over HTTP that has sent nothing is answered with the error's own status.
  if (begun_ || pinged_ || call_.framing == Framing::kWebSocket)
    call_.writer->fail(*error_, ends(), out);
  ask_parts(EndCause::kCancel);  // asks the other parts to end
}

std::size_t Answer::unread_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.output.unread_bytes();
  return bytes;
}

}  // namespace weft
