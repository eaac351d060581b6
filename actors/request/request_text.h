#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/actors/messages.h"
#include "weft/actors/request/active_request.h"
#include "weft/actors/request/aligned_output.h"
#include "weft/text/format/model_format.h"
#include "weft/text/format/output_parser.h"
#include "weft/text/output/output_text.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

class ResultReader;

/// Makes the texts of one request's outputs and gives them to its sink. The detokenizer owns it
/// from the request's first token on.
class RequestText {
 public:
  struct Options {
    std::int32_t sequences = 1;  ///< the number of sequences that generate tokens
    bool ranked = false;  ///< the caller's outputs are chosen only at the end (best_of, beams)
    std::int32_t prompt_tokens = 0;
    std::int32_t top_logprobs = 0;  ///< for the caller; the device may give more
    bool logprobs = false;
    /// How outputs are parsed; null: they are not (Request::typed_output).
    std::shared_ptr<const ModelFormat> format{};
    ParserOptions parser{};
    /// Makes the result of a request without outputs; otherwise null.
    std::shared_ptr<const ResultReader> vector{};
  };

  RequestText(ActiveRequest& request, Tokenizer tokenizer, StopStrings stops,
              const Options& options);

  /// Takes a new token. Returns true if it completes a stop string, or the only call that an output
  /// may have; the sequence then takes no more tokens.
  [[nodiscard]] bool push(const TokenEvent& event, std::span<const TokenLogprob> top,
                          TimePoint now);

  /// Called at the request's end: delivers what is held back and returns how each output ended.
  [[nodiscard]] Finish finish(EndMsg& end, TimePoint now);

  /// Called when tokens have been lost. Later text would not fit the delivered text, so none is
  /// delivered, and the request ends with kInternal in any case.
  void give_up() noexcept;

  [[nodiscard]] ActiveRequest& request() noexcept { return request_; }

 private:
  struct Output {
    explicit Output(OutputText one) : text(std::move(one)) {}
    OutputText text;
    std::optional<OutputParser> parser;
    std::optional<AlignedOutput> aligned;  // only with logprobs
    bool closed = false;                   ///< the output's text is complete
    bool cut = false;                      ///< the model did not end the output itself
    std::optional<std::size_t> stop;
    TokenId stop_token = kNoToken;
    std::int32_t tokens = 0;
    std::int32_t reasoning_tokens = 0;
    // Kept until the end if outputs are ranked.
    TypedText kept_text;
    std::vector<TokenId> kept_tokens;
    std::vector<float> kept_logprobs;
    std::vector<TokenText> kept_token_texts;
    std::vector<TokenLogprob> kept_top;
  };

  Output make_output() const;
  /// Parses fresh_, and the held-back rest if the output has ended.
  void take_apart(Output& output);
  [[nodiscard]] bool ended_by_call(const Output& output) const noexcept {
    return output.parser && output.parser->done();
  }
  void keep_top(std::span<const TokenLogprob> top);
  /// Takes a token of an output's text; `token` must outlive the delta's use.
  void take_token(Output& output, const TokenId& token, float logprob,
                  std::span<const TokenLogprob> top, DeltaView& delta);
  void put_text(Output& output, DeltaView& delta);
  void give(Output& output, std::int32_t choice, DeltaView delta);
  static void keep(Output& output, const DeltaView& delta);
  void close(Output& output, std::int32_t choice);
  void replay(const OutputEnd& end, std::int32_t choice);
  void remake(Output& output, const OutputEnd& end);
  void finish_vector(EndMsg& end, Finish& finish) const;
  ChoiceEnd choice_end(const Output& output, const OutputEnd& end, GroupEnd how) const;

  ActiveRequest& request_;
  Tokenizer tokenizer_;
  StopStrings stops_;
  Options options_;
  std::vector<Output> outputs_;
  std::string fresh_;              ///< the new text
  TypedText pieces_;               ///< the new text, parsed
  std::vector<TokenLogprob> top_;  ///< the new token's
  bool given_up_ = false;
};

/// Turns a tick's events into text and gives it to the requests' sinks. Sequences that hit a stop
/// string, or end by their text otherwise, are put into the tick's stop_hits.
void make_texts(PipelineTick& tick, TimePoint now);

/// Gives the rest of a request's texts to its sink, and then its terminal event.
void finish_request(EndMsg&& end, TimePoint now);

}  // namespace weft
