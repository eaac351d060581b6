#include "weft/text/tokenizer/split/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/text_error.h"
#include "weft/text/tokenizer/split/regex_syntax.h"

namespace weft {
namespace {

template <auto Free>
struct FreeWith {
  template <class T>
  void operator()(T* pointer) const noexcept {
    Free(pointer);
  }
};

using CodePtr = std::unique_ptr<pcre2_code, FreeWith<pcre2_code_free>>;
using CompileContextPtr =
    std::unique_ptr<pcre2_compile_context, FreeWith<pcre2_compile_context_free>>;
using MatchContextPtr = std::unique_ptr<pcre2_match_context, FreeWith<pcre2_match_context_free>>;
using JitStackPtr = std::unique_ptr<pcre2_jit_stack, FreeWith<pcre2_jit_stack_free>>;
using MatchDataPtr = std::unique_ptr<pcre2_match_data, FreeWith<pcre2_match_data_free>>;

// The most backtracking steps for one match. A useful split takes a few for each character; a
// pattern that doubles its work with each character is stopped after some 50 ms.
constexpr std::uint32_t kMatchLimit = 4'000'000;
constexpr std::uint32_t kHeapLimitKib = 64 * 1024;

// A group that repeats over a text of a megabyte needs about 16 times as many bytes; pages are
// allocated only when they are used.
constexpr std::size_t kJitStackStart = std::size_t{64} * 1024;
constexpr std::size_t kJitStackMost = 64U << 20;

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

MatchContextPtr make_limits() {
  MatchContextPtr limits(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(limits.get(), kMatchLimit);
  pcre2_set_heap_limit(limits.get(), kHeapLimitKib);
  return limits;
}

PCRE2_SPTR units(std::string_view text) noexcept {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

struct Regex::Code {
  CodePtr code;
  MatchContextPtr limits;
};

Result<Regex> Regex::compile(std::string_view pattern) {
  Result<std::string> translated = pcre2_pattern(pattern);
  if (!translated) return translated.error();
  const CompileContextPtr context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  CodePtr code(pcre2_compile(units(*translated), translated->size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                             &error, &offset, context.get()));
  if (!code) {
    return Error{make_error_code(TextErrc::kUnknownTokenizerPart),
                 "pattern \"" + std::string(pattern) + "\": " + message_of(error)};
  }
  // Without the compiler the interpreter finds the same matches, but slower.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return Regex(std::make_shared<const Code>(Code{std::move(code), make_limits()}));
}

Result<void> Regex::for_each_match(std::string_view text,
                                   const std::function<void(TextRange)>& on_match) const {
  const MatchDataPtr data(pcre2_match_data_create(1, nullptr));
  const PCRE2_SIZE* const found = pcre2_get_ovector_pointer(data.get());
  const auto match = [&](std::size_t at, pcre2_match_context* limits) {
    return pcre2_match(code_->code.get(), units(text), text.size(), at, PCRE2_NO_UTF_CHECK,
                       data.get(), limits);
  };
  // The machine's stack suffices for most matches; the first match that needs more gets a larger
  // stack.
  JitStackPtr stack;
  MatchContextPtr with_stack;
  std::size_t at = 0;
  while (at < text.size()) {
    const int status = match(at, with_stack ? with_stack.get() : code_->limits.get());
    if (status == PCRE2_ERROR_JIT_STACKLIMIT && !with_stack) {
      stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackMost, nullptr));
      with_stack = make_limits();
      pcre2_jit_stack_assign(with_stack.get(), nullptr, stack.get());
      continue;
    }
    if (status == PCRE2_ERROR_NOMATCH) break;
    if (status < 0) {
      return Error{make_error_code(TextErrc::kTextTooLarge),
                   "the tokenizer's pattern gives up at byte " + std::to_string(at) + " of " +
                       std::to_string(text.size()) + ": " + message_of(status)};
    }
    const TextRange range{found[0], found[1]};
    if (range.end > range.begin) {
      on_match(range);
      at = range.end;
    } else {
      if (range.end >= text.size()) break;
      at = range.end + utf8_length(static_cast<unsigned char>(text[range.end]));
    }
  }
  return {};
}

}  // namespace weft
