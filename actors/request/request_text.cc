#include "weft/actors/request/request_text.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/actors/request/vectors/result_reader.h"

namespace weft {
namespace {

// Bytes of a token's text: longer than the texts of nearly every vocabulary.
constexpr std::size_t kPieceBytes = 256;

FinishReason reason_of(const OutputEnd& end, GroupEnd how, bool hit) {
  if (hit || end.end == SequenceEnd::kStop) return FinishReason::kStop;
  if (end.end == SequenceEnd::kLength) return FinishReason::kLength;
  switch (how) {
    case GroupEnd::kDone:
    case GroupEnd::kStopped:
      return FinishReason::kStop;
    case GroupEnd::kCancelled:
      return FinishReason::kCancelled;
    case GroupEnd::kFailed:
      break;
  }
  return FinishReason::kError;
}

}  // namespace

RequestText::RequestText(ActiveRequest& request, Tokenizer tokenizer, StopStrings stops,
                         const Options& options)
    : request_(request),
      tokenizer_(std::move(tokenizer)),
      stops_(std::move(stops)),
      options_(options) {
  outputs_.reserve(static_cast<std::size_t>(options.sequences));
  for (std::int32_t i = 0; i < options.sequences; ++i) {
    outputs_.push_back(make_output());
  }
  fresh_.reserve(kPieceBytes);
  top_.resize(static_cast<std::size_t>(options.top_logprobs));
}

RequestText::Output RequestText::make_output() const {
  const bool skip = request_.request().skip_special_tokens;
  std::vector<TokenId> shown;
  if (options_.format) shown = options_.format->tag_tokens;
  Output output(OutputText(tokenizer_, stops_, skip, std::move(shown)));
  if (request_.request().continue_final_message) output.text.go_on();
  if (options_.format) {
    const std::shared_ptr<const OutputFormat> format(options_.format, &options_.format->format);
    output.parser.emplace(format, options_.parser);
  }
  if (options_.logprobs || options_.top_logprobs > 0) {
    output.text.track_ends();
    output.aligned.emplace();
  }
  return output;
}

// Without a parser, pieces_ stays empty and the text is delivered unchanged.
void RequestText::take_apart(Output& output) {
  if (!output.parser) return;
  pieces_.clear();
  output.parser->feed(fresh_, pieces_);
  if (output.parser->done()) output.closed = true;
  if (output.closed) output.parser->finish(pieces_, output.cut);
}

bool RequestText::push(const TokenEvent& event, std::span<const TokenLogprob> top, TimePoint now) {
  Output& output = outputs_[static_cast<std::size_t>(event.sequence)];
  if (output.closed) return false;
  if (request_.times().first_token == TimePoint{}) request_.times().first_token = now;
  ++output.tokens;
  output.cut = event.end == SequenceEnd::kLength;
  if (output.parser && output.parser->thinks()) ++output.reasoning_tokens;
  fresh_.clear();
  DeltaView delta;
  if (event.end == SequenceEnd::kStop) {
    output.stop_token = event.token;
  } else {
    const auto hit = output.text.push(event.token, fresh_);
    if (hit && *hit) {
      output.stop = *hit;
      output.closed = true;
    }
    keep_top(top);
    take_token(output, event.token, event.logprob, top_, delta);
  }
  if (event.end != SequenceEnd::kNone && !output.closed) {
    output.stop = output.text.finish(fresh_);
    output.closed = true;
  }
  take_apart(output);
  give(output, event.sequence, delta);
  return (output.stop.has_value() || ended_by_call(output)) && event.end == SequenceEnd::kNone;
}

// Keeps the most probable tokens; the samplers may have left fewer than were asked for.
void RequestText::keep_top(std::span<const TokenLogprob> top) {
  const std::size_t count = std::min(top.size(), top_.size());
  std::ranges::copy(top.first(count), top_.begin());
  constexpr TokenLogprob kNone{kNoToken, -std::numeric_limits<float>::infinity()};
  std::ranges::fill(std::span(top_).subspan(count), kNone);
}

void RequestText::take_token(Output& output, const TokenId& token, float logprob,
                             std::span<const TokenLogprob> top, DeltaView& delta) {
  if (output.aligned) return output.aligned->add(token, logprob, top);
  delta.tokens = {&token, 1};
}

// The text is fresh_, or pieces_; with logprobs the text waits for its tokens.
void RequestText::put_text(Output& output, DeltaView& delta) {
  if (!output.aligned) {
    delta.text = output.parser ? pieces_.text() : fresh_;
    if (output.parser) delta.marks = pieces_.marks();
    return;
  }
  output.text.take_ends(output.aligned->ends());
  if (output.parser) {
    output.aligned->add(pieces_, output.parser->settled());
  } else {
    output.aligned->add(fresh_);
  }
  output.aligned->release(output.closed, delta);
  if (!output.parser) delta.marks = {};
  if (!options_.logprobs) delta.logprobs = {};
}

void RequestText::give(Output& output, std::int32_t choice, DeltaView delta) {
  delta.choice = choice;
  delta.top_per_token = options_.top_logprobs;
  put_text(output, delta);
  if (delta.text.empty() && delta.tokens.empty() && delta.marks.empty()) return;
  if (options_.ranked) return keep(output, delta);
  request_.deliver(delta);
}

void RequestText::keep(Output& output, const DeltaView& delta) {
  const auto append = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const TokenText& one : delta.token_texts) {
    output.kept_token_texts.push_back(
        {.begin = output.kept_text.text().size() + one.begin, .size = one.size});
  }
  output.kept_text.append(delta.text, delta.marks);
  append(delta.tokens, output.kept_tokens);
  append(delta.logprobs, output.kept_logprobs);
  append(delta.top, output.kept_top);
}

void RequestText::give_up() noexcept {
  given_up_ = true;
  for (Output& output : outputs_) output.closed = true;
}

// Ends the text of a running sequence: text that was held back will not change any more.
void RequestText::close(Output& output, std::int32_t choice) {
  if (output.closed) return;
  output.cut = true;
  fresh_.clear();
  output.stop = output.text.finish(fresh_);
  output.closed = true;
  take_apart(output);
  give(output, choice, {});
}

// Makes the text of a beam search's output, all of which comes at its end.
void RequestText::remake(Output& output, const OutputEnd& end) {
  output = make_output();
  output.tokens = static_cast<std::int32_t>(end.tokens.size());
  output.cut = end.end == SequenceEnd::kLength;
  std::span<const TokenId> tokens = end.tokens;
  if (end.end == SequenceEnd::kStop) {
    output.stop_token = tokens.back();
    tokens = tokens.first(tokens.size() - 1);
  }
  for (std::size_t i = 0; i < tokens.size() && !output.stop; ++i) {
    if (output.parser && output.parser->thinks()) ++output.reasoning_tokens;
    fresh_.clear();
    DeltaView delta;
    take_token(output, tokens[i], options_.logprobs ? end.logprobs[i] : 0, {}, delta);
    const auto hit = output.text.push(tokens[i], fresh_);
    if (hit) output.stop = *hit;
    take_apart(output);
    give(output, 0, delta);
    if (output.closed) return;
  }
  fresh_.clear();
  if (!output.stop) output.stop = output.text.finish(fresh_);
  output.closed = true;
  take_apart(output);
  give(output, 0, {});
}

// Delivers an output that was kept until the end, or that a beam search has only now.
void RequestText::replay(const OutputEnd& end, std::int32_t choice) {
  Output& output = outputs_[static_cast<std::size_t>(end.sequence)];
  if (!end.tokens.empty()) remake(output, end);
  DeltaView delta;
  delta.choice = choice;
  delta.text = output.kept_text.text();
  if (output.parser) delta.marks = output.kept_text.marks();
  delta.tokens = output.kept_tokens;
  delta.logprobs = output.kept_logprobs;
  delta.token_texts = output.kept_token_texts;
  delta.top = output.kept_top;
  delta.top_per_token = options_.top_logprobs;
  if (delta.text.empty() && delta.tokens.empty() && delta.marks.empty()) return;
  request_.deliver(delta);
}

ChoiceEnd RequestText::choice_end(const Output& output, const OutputEnd& end, GroupEnd how) const {
  ChoiceEnd choice;
  choice.reason = reason_of(end, how, output.stop.has_value() || ended_by_call(output));
  if (output.parser) {
    choice.calls = output.parser->calls();
    choice.in_call = output.parser->in_call();
  }
  if (output.stop) {
    choice.stop = stops_.text(*output.stop);
  } else {
    choice.stop_token = output.stop_token;
  }
  choice.cumulative_logprob = end.cumulative_logprob;
  return choice;
}

// A vector whose prompt was not read to its end does not count, whatever the cause of the end.
void RequestText::finish_vector(EndMsg& end, Finish& finish) const {
  if (end.how == GroupEnd::kStopped) {
    end.how = GroupEnd::kCancelled;
    end.error = {EngineErrc::kCancelled, {}};
  }
  if (end.how != GroupEnd::kDone) return;
  const ResultReader& reader = *options_.vector;
  if (reader.complete() && !reader.lacks_numbers()) return reader.give(finish);
  end.how = GroupEnd::kFailed;
  end.error = {reader.complete() ? EngineErrc::kNotNumbers : EngineErrc::kInternal, {}};
}

Finish RequestText::finish(EndMsg& end, TimePoint now) {
  Finish finish;
  if (given_up_) {
    end.how = GroupEnd::kFailed;
    end.error = {EngineErrc::kInternal, {}};
    end.outputs.clear();
  }
  if (options_.vector) finish_vector(end, finish);
  finish.usage.prompt_tokens = options_.prompt_tokens;
  finish.usage.cached_tokens = end.cached_tokens;
  finish.usage.accepted_guesses = static_cast<std::int32_t>(end.guesses.accepted);
  finish.usage.rejected_guesses = static_cast<std::int32_t>(end.guesses.rejected);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    close(outputs_[i], static_cast<std::int32_t>(i));
  }
  std::int32_t choice = 0;
  for (const OutputEnd& one : end.outputs) {
    if (options_.ranked) replay(one, choice);
    const Output& output = outputs_[static_cast<std::size_t>(one.sequence)];
    finish.choices.push_back(choice_end(output, one, end.how));
    ++choice;
  }
  for (const Output& output : outputs_) {
    finish.usage.output_tokens += output.tokens;
    finish.usage.reasoning_tokens += output.reasoning_tokens;
  }
  // A step may have computed tokens behind the stop string that ends an output.
  finish.usage.accepted_guesses =
      std::min(finish.usage.accepted_guesses, finish.usage.output_tokens);
  finish.reason =
      finish.choices.empty() ? reason_of({}, end.how, false) : finish.choices.front().reason;
  if (end.how == GroupEnd::kFailed) finish.reason = FinishReason::kError;
  if (end.how == GroupEnd::kCancelled) finish.reason = FinishReason::kCancelled;
  finish.error = std::move(end.error);
  finish.times = request_.times();
  finish.times.ended = now;
  return finish;
}

void make_texts(PipelineTick& tick, TimePoint now) {
  const std::span<const TokenLogprob> tops = tick.result.top;
  for (const TokenEvent& event : tick.events) {
    const auto top = tops.subspan(static_cast<std::size_t>(event.first_top),
                                  static_cast<std::size_t>(event.top_count));
    if (!event.text->push(event, top, now)) continue;
    tick.stop_hits.push_back({event.text->request().id(), event.sequence});
  }
}

void finish_request(EndMsg&& end, TimePoint now) {
  Finish finish = end.text->finish(end, now);
  std::move(end.ticket).finish(std::move(finish));
}

}  // namespace weft
