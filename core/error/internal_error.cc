#include "weft/core/error/internal_error.h"

#include <cstdio>
#include <cstdlib>

namespace weft {
namespace {

#ifdef WEFT_ABORT_ON_INTERNAL_ERROR
constexpr bool kAbort = true;
#else
constexpr bool kAbort = false;
#endif

std::string describe(std::string_view reason, const std::source_location& where) {
  std::string text(reason);
  text.append(" (").append(where.file_name()).append(":");
  text.append(std::to_string(where.line())).append(")");
  return text;
}

[[noreturn, maybe_unused]] void abort_with(const std::string& text) {
  std::fprintf(stderr, "weft: internal error: %s\n", text.c_str());
  std::abort();
}

}  // namespace

void internal_error(std::string_view reason, std::source_location where) {
  const std::string text = describe(reason, where);
  if constexpr (kAbort) abort_with(text);
  throw InternalError(text);
}

void internal_error_noexcept(std::string_view reason, std::source_location where) noexcept {
  if constexpr (kAbort) abort_with(describe(reason, where));
}

}  // namespace weft
