#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/measure/load/trace.h"
#include "weft/tests/fixture/fuzz_input.h"

namespace {

using weft::measure::Arrival;

constexpr std::int32_t kMostTokens = 1 << 24;

}  // namespace

// An accepted trace is a load: ordered by time from 0, with lengths within bounds, and a request
// for each line. A cut and stretched trace is the same load, cut and stretched.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = weft::test::fuzz_text(data, size);
  const auto whole = weft::measure::parse_trace(text, "input");
  if (!weft::test::accepted(whole)) return 0;
  weft::test::fuzz_require(!whole->empty() && whole->front().at == 0);
  weft::test::fuzz_require(std::ranges::is_sorted(*whole, {}, &Arrival::at));
  weft::test::fuzz_require(whole->size() <=
                           static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
  for (const Arrival& one : *whole) {
    weft::test::fuzz_require(one.prompt >= 1 && one.prompt <= kMostTokens && one.output >= 1 &&
                             one.output <= kMostTokens);
  }
  const auto part = weft::measure::parse_trace(
      text, "input", {.time_scale = 0.5, .requests = 2, .most_prompt = 9, .most_output = 8});
  weft::test::fuzz_require(part.has_value() &&
                           part->size() == std::min<std::size_t>(whole->size(), 2));
  for (std::size_t i = 0; i < part->size(); ++i) {
    weft::test::fuzz_require((*part)[i].at == (*whole)[i].at * 0.5 &&
                             (*part)[i].prompt == std::min((*whole)[i].prompt, 9) &&
                             (*part)[i].output == std::min((*whole)[i].output, 8));
  }
  return 0;
}
