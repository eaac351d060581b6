#include <boost/json/parse.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/core/text/utf8.h"
#include "weft/tests/fixture/fuzz_input.h"
#include "weft/text/chat/chat_template.h"

namespace weft {
namespace {

constexpr TemplateLimits kLimits{
    .steps = 20'000, .output_bytes = std::size_t{64} << 10, .memory_bytes = std::size_t{2} << 20};
/// 2026-07-04 05:06:07
constexpr std::chrono::local_seconds kNow{std::chrono::seconds(1'783'141'567)};

/// Renders an input that has a template, a zero byte, and the variables in JSON, as a model's
/// folder and a request supply them.
void render(std::string_view input) {
  const std::size_t zero = input.find('\0');
  const auto chat = ChatTemplate::parse(input.substr(0, zero), "input");
  if (!test::accepted(chat)) return;
  boost::system::error_code no_json;
  const std::string_view json = zero == std::string_view::npos ? "{}" : input.substr(zero + 1);
  const boost::json::value variables = boost::json::parse(json, no_json);
  if (no_json.failed() || !variables.is_object()) return;
  const auto prompt = chat->render(variables.get_object(), kNow, kLimits);
  const auto again = chat->render(variables.get_object(), kNow, kLimits);
  test::fuzz_require(prompt.has_value() == again.has_value());
  if (!test::accepted(prompt)) return;
  test::fuzz_require(*prompt == *again && prompt->size() <= kLimits.output_bytes);
  test::fuzz_require(is_utf8(*prompt));
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::render(weft::test::fuzz_text(data, size));
  return 0;
}
