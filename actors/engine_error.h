#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// How a request, or the use of its stream, can fail.
enum class EngineErrc {
  /// As many requests, or prompt tokens, wait as are allowed. Try again later.
  kOverloaded = 1,
  /// Something in the request is wrong; the detail names the field.
  kBadRequest,
  /// Prompt and max_tokens are more than the context; the detail has the numbers.
  kContextLengthExceeded,
  /// The request needs more rows or pages than the engine has at all; the detail has the numbers.
  kNeverFits,
  /// The caller cancelled it.
  kCancelled,
  /// Its deadline passed.
  kDeadlineExceeded,
  /// Its reader did not take what was produced.
  kSlowReader,
  /// None of the logits that the model gave is a number above minus infinity, whatever the request
  /// allows.
  kNotNumbers,
  /// The device failed while it ran this request.
  kDeviceFailed,
  /// The engine is draining or has been shut down.
  kStopping,
  /// The engine cannot serve: an actor that it needs has failed for good.
  kNotReady,
  /// A failure inside the engine ended this request, too.
  kInternal,
  /// A second async_next was started before the first had completed.
  kReadOutstanding,
  /// The result was asked for before async_next had reported the end.
  kNotFinished,
  /// The TokenStream is empty: default-constructed or moved from.
  kNoStream,
  /// Every token that the request allows has a logit of minus infinity.
  kNoTokenLeft,
  /// The engine has no model of this name.
  kNoSuchModel,
  /// The model is there, but not in memory.
  kModelNotLoaded,
  /// The model is being loaded, and is not to be unloaded meanwhile.
  kModelLoading,
  /// The model takes no more requests: it leaves when those that it has are done.
  kModelUnloading,
  /// The model could not be loaded; the detail says why.
  kModelFailed,
  /// The request's LogitProcessor threw; the detail is the exception's text.
  kProcessorFailed,
  /// The request's ActivationReader threw; the detail is the exception's text.
  kReaderFailed,
  /// To find the tokens that a structured output allows next takes more work, or more memory, than
  /// one step may take.
  kGrammarTooLarge,
  /// The structured outputs that are being written hold all the memory that they may. Try again
  /// later.
  kGrammarsFull,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& engine_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(EngineErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::EngineErrc> : std::true_type {};
