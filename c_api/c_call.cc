#include "weft/c_api/c_call.h"

#include <boost/system/errc.hpp>
#include <cstdlib>
#include <cstring>
#include <new>

#include "weft/actors/engine_error.h"
#include "weft/core/error/caught_error.h"

namespace weft::c_api {
namespace {

weft_status status_of(const boost::system::error_code& code) noexcept {
  if (code == EngineErrc::kOverloaded || code == EngineErrc::kGrammarsFull) return WEFT_OVERLOADED;
  if (code == EngineErrc::kStopping || code == EngineErrc::kNotReady) return WEFT_UNAVAILABLE;
  const bool inside = code == EngineErrc::kInternal || code == EngineErrc::kDeviceFailed ||
                      code == boost::system::errc::not_enough_memory;
  return inside ? WEFT_FAILED : WEFT_INVALID;
}

}  // namespace

Outcome outcome_of(const Error& error) { return {status_of(error.code), to_string(error)}; }

Outcome outcome_of(const std::exception& failure) noexcept {
  try {
    return outcome_of(caught_error(failure, EngineErrc::kInternal));
  } catch (const std::exception&) {
    return {.status = WEFT_FAILED};
  }
}

// Allocated by malloc(), so that a caller may free the text without this library.
void give_text(const std::string& text, char** error) noexcept {
  if (error == nullptr) return;
  *error = static_cast<char*>(std::malloc(text.size() + 1));
  if (*error != nullptr) std::memcpy(*error, text.c_str(), text.size() + 1);
}

}  // namespace weft::c_api

uint32_t weft_c_abi() { return WEFT_C_ABI; }

const char* weft_version() { return WEFT_VERSION; }

void weft_free(char* text) { std::free(text); }
