#include "weft/actors/failure.h"

#include <new>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/sampling/choice_failure.h"
#include "weft/schedule/group.h"

namespace weft {
namespace {

Error error_of(const ChoiceFailure& why) {
  switch (why.cause) {
    case ChoiceFailure::Cause::kProcessorThrew:
      return {EngineErrc::kProcessorFailed, why.text};
    case ChoiceFailure::Cause::kReaderThrew:
      return {EngineErrc::kReaderFailed, why.text};
    case ChoiceFailure::Cause::kNotNumbers:
      break;
  }
  return {EngineErrc::kNotNumbers, {}};
}

}  // namespace

Error request_failure(const Error& why) noexcept {
  try {
    return request_failure(Error(why));
  } catch (const std::bad_alloc&) {
    return request_failure(Error{why.code, {}});
  }
}

Error request_failure(Error&& why) noexcept {
  if (why.code.category() != core_category()) return std::move(why);
  switch (static_cast<CoreErrc>(why.code.value())) {
    case CoreErrc::kMailboxFull:
      return {EngineErrc::kOverloaded, {}};
    case CoreErrc::kStopped:
      return {EngineErrc::kStopping, {}};
    case CoreErrc::kMailboxClosed:
    case CoreErrc::kNotReady:
      return {EngineErrc::kNotReady, {}};
    case CoreErrc::kActorFailed:
      break;
  }
  return {EngineErrc::kInternal, std::move(why.detail)};
}

Error nothing_chosen(const GroupSpec& spec, const ChoiceFailure* why) {
  if (why != nullptr) return error_of(*why);
  const SamplingParams& params = *spec.sampling;
  if (params.constraint != nullptr && params.constraint->gave_up()) {
    return {EngineErrc::kGrammarTooLarge, {}};
  }
  const bool masks = params.logit_processor != nullptr || params.constraint != nullptr ||
                     !params.allowed_tokens.empty() || !params.bad_tokens.empty() ||
                     params.min_tokens > 0 || !params.logit_bias.empty();
  return {masks ? EngineErrc::kNoTokenLeft : EngineErrc::kNotNumbers, {}};
}

Error refusal_of(PushResult result, bool ready) {
  if (result == PushResult::kFull) return {EngineErrc::kOverloaded, {}};
  return {ready ? EngineErrc::kStopping : EngineErrc::kNotReady, {}};
}

Error request_ending(EndCause cause) {
  switch (cause) {
    case EndCause::kDeadline:
      return {EngineErrc::kDeadlineExceeded, {}};
    case EndCause::kSlowReader:
      return {EngineErrc::kSlowReader, {}};
    case EndCause::kShutdown:
      return {EngineErrc::kStopping, {}};
    case EndCause::kFailure:
      return {EngineErrc::kInternal, {}};
    case EndCause::kNone:
    case EndCause::kStop:
    case EndCause::kCancel:
      break;
  }
  return {EngineErrc::kCancelled, {}};
}

}  // namespace weft
