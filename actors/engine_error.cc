#include "weft/actors/engine_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kEngineErrors = {
    ErrorText{static_cast<int>(EngineErrc::kOverloaded), "overloaded",
              "the engine is overloaded; try again later"},
    ErrorText{static_cast<int>(EngineErrc::kBadRequest), "bad_request",
              "the request cannot be served as it is"},
    ErrorText{static_cast<int>(EngineErrc::kContextLengthExceeded), "context_length_exceeded",
              "prompt and max_tokens are more than the context holds"},
    ErrorText{static_cast<int>(EngineErrc::kNeverFits), "never_fits",
              "the request needs more than the engine has"},
    ErrorText{static_cast<int>(EngineErrc::kCancelled), "cancelled", "the request was cancelled"},
    ErrorText{static_cast<int>(EngineErrc::kDeadlineExceeded), "deadline_exceeded",
              "the request's time is over"},
    ErrorText{static_cast<int>(EngineErrc::kSlowReader), "slow_reader",
              "what the request produced was not taken"},
    ErrorText{static_cast<int>(EngineErrc::kNotNumbers), "not_numbers",
              "the model gave logits that are not numbers"},
    ErrorText{static_cast<int>(EngineErrc::kDeviceFailed), "device_failed",
              "the device failed while it ran the request"},
    ErrorText{static_cast<int>(EngineErrc::kStopping), "stopping",
              "the engine takes no more requests: it is draining or has been shut down"},
    ErrorText{static_cast<int>(EngineErrc::kNotReady), "not_ready", "the engine cannot serve"},
    ErrorText{static_cast<int>(EngineErrc::kInternal), "internal",
              "a failure inside the engine took the request along"},
    ErrorText{static_cast<int>(EngineErrc::kReadOutstanding), "read_outstanding",
              "another async_next of the stream is outstanding"},
    ErrorText{static_cast<int>(EngineErrc::kNotFinished), "not_finished",
              "the stream has not been read to its end"},
    ErrorText{static_cast<int>(EngineErrc::kNoStream), "no_stream",
              "the stream belongs to no request"},
    ErrorText{static_cast<int>(EngineErrc::kNoTokenLeft), "no_token_left",
              "the request allows no token that the model could choose"},
    ErrorText{static_cast<int>(EngineErrc::kNoSuchModel), "no_such_model",
              "there is no model of this name"},
    ErrorText{static_cast<int>(EngineErrc::kModelNotLoaded), "model_not_loaded",
              "the model is not loaded"},
    ErrorText{static_cast<int>(EngineErrc::kModelLoading), "model_loading",
              "the model is being loaded"},
    ErrorText{static_cast<int>(EngineErrc::kModelUnloading), "model_unloading",
              "the model is being unloaded"},
    ErrorText{static_cast<int>(EngineErrc::kModelFailed), "model_failed",
              "the model could not be loaded"},
    ErrorText{static_cast<int>(EngineErrc::kProcessorFailed), "processor_failed",
              "the request's LogitProcessor threw"},
    ErrorText{static_cast<int>(EngineErrc::kReaderFailed), "reader_failed",
              "the request's ActivationReader threw"},
    ErrorText{static_cast<int>(EngineErrc::kGrammarTooLarge), "grammar_too_large",
              "the structured output leaves more open at once than a step can look at"},
    ErrorText{static_cast<int>(EngineErrc::kGrammarsFull), "grammars_full",
              "the structured outputs of other requests hold all the memory there is for them"},
    ErrorText{static_cast<int>(EngineErrc::kNoSuchAdapter), "no_such_adapter",
              "the model has no adapter of this name"},
    ErrorText{static_cast<int>(EngineErrc::kAdapterFailed), "adapter_failed",
              "the adapter cannot be used"},
    ErrorText{static_cast<int>(EngineErrc::kAdapterLoaded), "adapter_loaded",
              "there is an adapter of this name"},
};

constexpr TableCategory kEngineCategory(0x3a86f2d94be107c5, "weft.engine", kEngineErrors);

}  // namespace

const TableCategory& engine_category() noexcept { return kEngineCategory; }

boost::system::error_code make_error_code(EngineErrc code) noexcept {
  return {static_cast<int>(code), engine_category()};
}

}  // namespace weft
