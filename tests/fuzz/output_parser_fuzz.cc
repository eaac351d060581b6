// Outputs of models, parsed whole and in parts: the pieces are equal, none is lost, and all text
// that is not held back is passed on.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "weft/tests/fixture/fuzz_input.h"
#include "weft/tests/text/format/parse_output.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;  // NOLINT(google-build-using-namespace): the harness's one function
  // A failed expectation is else only printed. The exception aborts, so that the input is kept.
  GTEST_FLAG_SET(throw_on_failure, true);
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.size() < 2) return 0;
  static const auto tools = test::test_tools({{"f", {{"a", "string"}, {"b", "integer"}}},
                                              {"get_weather", {{"city", "string"}}},
                                              {"now", {}}});
  const auto calls = known_calls();
  const auto thoughts = known_thoughts();
  const auto first = static_cast<unsigned char>(text[0]);
  const auto second = static_cast<unsigned char>(text[1]);
  text.remove_prefix(2);
  const OutputFormat& one = calls[first % calls.size()].format;
  const OutputFormat format =
      one.harmony ? one : join_formats(one, thoughts[second % thoughts.size()].format);
  ParserOptions options{.tools = tools};
  options.in_thought = (second & 0x40U) != 0 && !format.harmony;
  options.one_call = (second & 0x80U) != 0;
  const bool cut = (second & 0x20U) != 0;
  std::mt19937 random(first * 256U + second);
  const auto whole = test::parse_parts(format, options, {text}, cut);
  const auto parts = test::parse_parts(format, options, test::random_parts(text, random), cut);
  if (whole != parts) std::abort();
  return 0;
}
