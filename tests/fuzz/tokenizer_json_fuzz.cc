#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/core/token.h"
#include "weft/tests/fixture/fuzz_input.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {
namespace {

void check_round_trip(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options) {
  std::vector<TokenId> ids;
  if (!tokenizer.encode(text, options, ids)) {
    test::fuzz_require(ids.empty());
    return;
  }
  for (const TokenId id : ids) test::accepted(tokenizer.token(id));
  test::fuzz_require(tokenizer.decode(ids, false).has_value());
  test::fuzz_require(tokenizer.decode(ids, true).has_value());
}

/// Takes an input of a tokenizer.json, a zero byte, and a text for it.
void encode(std::string_view input) {
  const std::size_t zero = input.find('\0');
  const auto tokenizer = Tokenizer::from_json(input.substr(0, zero), "input");
  if (!test::accepted(tokenizer) || zero == std::string_view::npos) return;
  const std::string_view text = input.substr(zero + 1);
  check_round_trip(*tokenizer, text, {.add_special = true, .parse_special = true});
  check_round_trip(*tokenizer, text, {.add_special = false, .parse_special = false});
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::encode(weft::test::fuzz_text(data, size));
  return 0;
}
