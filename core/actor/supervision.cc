#include "weft/core/actor/supervision.h"

#include <algorithm>
#include <new>

#include "weft/core/error/internal_error.h"

namespace weft {
namespace {

using enum ActorRole;
using enum ExitKind;
using enum SupervisionAction;

constexpr SupervisionTable kDefaultTable = {{
    {kReceiver, kException, kRestart, "it keeps counts only, and rebuilds them"},
    {kReceiver, kOutOfMemory, kRestart, "refusing one request frees what it asked for"},
    {kReceiver, kInternalError, kNotReady, "limits that are miscounted admit anything"},
    {kReceiver, kDeviceLost, kNotReady, "no request can be served any more"},
    {kPreprocess, kException, kRestart, "it holds one request at a time"},
    {kPreprocess, kOutOfMemory, kRestart, "the large prompt goes, the others stay"},
    {kPreprocess, kInternalError, kRestart, "no state survives from request to request"},
    {kPreprocess, kDeviceLost, kNotReady, "no request can be served any more"},
    {kScheduler, kException, kFailRequests, "its sequences' state is half-changed"},
    {kScheduler, kOutOfMemory, kFailRequests, "its sequences' state is half-changed"},
    {kScheduler, kInternalError, kNotReady, "rows and pages can no longer be trusted"},
    {kScheduler, kDeviceLost, kNotReady, "no request can be served any more"},
    {kExecutor, kException, kFailRequests, "the step's results are lost, the device is not"},
    {kExecutor, kOutOfMemory, kFailRequests, "the step's results are lost, the device is not"},
    {kExecutor, kInternalError, kNotReady, "device memory may hold anything"},
    {kExecutor, kDeviceLost, kNotReady, "only a new process gets a new context"},
    {kDetokenizer, kException, kFailRequests, "the text of its streams has a gap"},
    {kDetokenizer, kOutOfMemory, kFailRequests, "the text of its streams has a gap"},
    {kDetokenizer, kInternalError, kFailRequests, "only its own streams are wrong"},
    {kDetokenizer, kDeviceLost, kNotReady, "no request can be served any more"},
    {kCustom, kException, kRestart, "Weft's own state does not depend on it"},
    {kCustom, kOutOfMemory, kRestart, "Weft's own state does not depend on it"},
    {kCustom, kInternalError, kNotReady, "somebody's invariant is broken; stop and look"},
    {kCustom, kDeviceLost, kNotReady, "no request can be served any more"},
}};

constexpr bool has_every_row_once(const SupervisionTable& table) {
  for (const ActorRole role : kActorRoles) {
    for (const ExitKind exit : kFailureKinds) {
      const auto same = [&](const SupervisionRule& rule) {
        return rule.role == role && rule.exit == exit;
      };
      if (std::ranges::count_if(table, same) != 1) return false;
    }
  }
  return true;
}
static_assert(has_every_row_once(kDefaultTable));

ExitReason with_text(ExitKind kind, const char* text) noexcept {
  ExitReason reason{kind, {}};
  try {
    reason.what = text;
  } catch (...) {  // no memory: the kind is what matters
  }
  return reason;
}

}  // namespace

std::string_view to_string(ActorRole role) noexcept {
  switch (role) {
    case kReceiver:
      return "receiver";
    case kPreprocess:
      return "preprocess";
    case kScheduler:
      return "scheduler";
    case kExecutor:
      return "executor";
    case kDetokenizer:
      return "detokenizer";
    case kCustom:
      return "custom";
  }
  return "unknown";
}

std::string_view to_string(ExitKind kind) noexcept {
  switch (kind) {
    case kStopped:
      return "stopped";
    case kException:
      return "exception";
    case kOutOfMemory:
      return "out of memory";
    case kInternalError:
      return "internal error";
    case kDeviceLost:
      return "device lost";
  }
  return "unknown";
}

std::string_view to_string(SupervisionAction action) noexcept {
  switch (action) {
    case kRestart:
      return "restart";
    case kFailRequests:
      return "fail its requests";
    case kNotReady:
      return "engine not ready";
  }
  return "unknown";
}

const SupervisionTable& default_supervision() noexcept { return kDefaultTable; }

SupervisionAction find_action(std::span<const SupervisionRule> table, ActorRole role,
                              ExitKind exit) noexcept {
  for (const SupervisionRule& rule : table) {
    if (rule.role == role && rule.exit == exit) return rule.action;
  }
  return kNotReady;
}

ExitReason exit_reason(const std::exception_ptr& exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (const ActorFailure& failure) {
    return with_text(failure.kind(), failure.what());
  } catch (const InternalError& bug) {
    return with_text(kInternalError, bug.what());
  } catch (const std::bad_alloc& failure) {
    return with_text(kOutOfMemory, failure.what());
  } catch (const std::exception& failure) {
    return with_text(kException, failure.what());
  } catch (...) {
    return with_text(kException, "an exception that is not a std::exception");
  }
}

}  // namespace weft
