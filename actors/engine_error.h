#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// How a request, or the use of its stream, can fail.
enum class EngineErrc {
  /// The most requests, or prompt tokens, already wait. Try again later.
  kOverloaded = 1,
  /// A field of the request is invalid; the detail names it.
  kBadRequest,
  /// Prompt and max_tokens exceed the context; the detail has the numbers.
  kContextLengthExceeded,
  /// The request needs more rows or pages than the engine has in total; the detail has the numbers.
  kNeverFits,
  /// The caller cancelled it.
  kCancelled,
  /// Its deadline passed.
  kDeadlineExceeded,
  /// Its reader did not take the output.
  kSlowReader,
  /// None of the model's logits is a number above minus infinity, whatever tokens the request
  /// allows.
  kNotNumbers,
  /// The device failed while it ran this request.
  kDeviceFailed,
  /// The engine is draining or has been shut down.
  kStopping,
  /// The engine cannot serve: an actor that it needs has failed for good.
  kNotReady,
  /// A failure inside the engine ended this request.
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
  /// The model is known, but not in memory.
  kModelNotLoaded,
  /// The model is being loaded, and cannot be unloaded meanwhile.
  kModelLoading,
  /// The model is being unloaded: it finishes its requests and takes no more.
  kModelUnloading,
  /// The model could not be loaded; the detail says why.
  kModelFailed,
  /// The request's LogitProcessor threw; the detail is the exception's text.
  kProcessorFailed,
  /// The request's ActivationReader threw; the detail is the exception's text.
  kReaderFailed,
  /// Finding the tokens that a structured output allows next would exceed a step's limit of work or
  /// memory.
  kGrammarTooLarge,
  /// The running structured outputs already use all memory allowed for them. Try again
  /// later.
  kGrammarsFull,
  /// The model has no adapter of this name; the detail has the names that there are.
  kNoSuchAdapter,
  /// The adapter cannot be read, or does not fit the model or its devices; the detail says why.
  kAdapterFailed,
  /// The name has an adapter already.
  kAdapterLoaded,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& engine_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(EngineErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::EngineErrc> : std::true_type {};
