#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/gpu/ranks/world/plan_codec.h"
#include "weft/gpu/ranks/world/rank_setup.h"
#include "weft/tests/fixture/fuzz_input.h"

namespace {

constexpr weft::DeviceLimits kLimits{.rows = 4,
                                     .pages = 8,
                                     .page_tokens = 4,
                                     .step_tokens = 16,
                                     .context = 32,
                                     .cross_pages = 8,
                                     .vocabulary = 100};

}  // namespace

// Bytes from another process: an accepted plan is the same after it is sent on.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = weft::test::fuzz_bytes(data, size);
  static_cast<void>(weft::test::accepted(weft::decode_setup(bytes)));
  static_cast<void>(weft::test::accepted(weft::decode_question(bytes)));
  static_cast<void>(weft::test::accepted(weft::decode_room(bytes)));
  weft::Plan plan;
  if (!weft::decode_plan(bytes, kLimits, plan)) return 0;
  std::vector<std::byte> once;
  weft::encode_plan(plan, once);
  weft::Plan again;
  weft::test::fuzz_require(weft::decode_plan(once, kLimits, again).has_value());
  std::vector<std::byte> twice;
  weft::encode_plan(again, twice);
  weft::test::fuzz_require(once == twice);
  return 0;
}
