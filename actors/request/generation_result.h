#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/actors/request/request.h"
#include "weft/core/token.h"
#include "weft/sampling/sampler.h"

namespace weft {

/// One output's new text and tokens since its previous delta.
struct Delta {
  std::int32_t choice = 0;  ///< which output, 0 .. n-1
  std::string text{};       ///< valid UTF-8; may be empty, while characters are incomplete
  /// The kinds of the parts of `text`, with Request::typed_output; for_each_piece() goes through
  /// them. The first mark is at the beginning.
  std::vector<PieceMark> marks{};
  std::vector<TokenId> tokens{};
  std::vector<float> logprobs{};         ///< one for each token, when asked for
  std::vector<TokenText> token_texts{};  ///< with logprobs: the part of `text` that each token made
  std::vector<TokenLogprob> top{};       ///< top_per_token for each token, see DeltaView
  std::int32_t top_per_token = 0;
};

/// One output as a whole.
struct GeneratedChoice {
  std::string text{};
  std::vector<PieceMark> marks{};  ///< as of Delta
  std::vector<TokenId> tokens{};
  std::vector<float> logprobs{};
  std::vector<TokenText> token_texts{};  ///< see Delta
  std::vector<TokenLogprob> top{};
  std::int32_t top_per_token = 0;
  ChoiceEnd end{};
};

/// The result of a request: all of its outputs, or its outputs up to the failure.
struct GenerationResult {
  FinishReason reason = FinishReason::kStop;
  std::vector<GeneratedChoice> choices{};  ///< n of them, in their order
  Usage usage{};
  RequestTimes times{};
  /// Schema places that the outputs need not follow, of a structured_output or of functions that
  /// must be called, if these are not strict ("tools[0].function...not").
  std::vector<std::string> not_enforced{};
  std::string error_detail{};                ///< details of the error, such as fields and numbers
  std::chrono::milliseconds retry_after{0};  ///< with kOverloaded, kGrammarsFull: when to try again
};

}  // namespace weft
