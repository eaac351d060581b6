#include <cstddef>
#include <cstdint>

#include "weft/net/api/completions/completion_request.h"
#include "weft/tests/net/api/fields/fuzz_body.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ApiContext context{.card = weft::test::tiny_card()};
  weft::test::fuzz_body(
      data, size, [&](simdjson::dom::object body) { return weft::read_completion(body, context); },
      [](const weft::CompletionRequest& request) {
        weft::test::fuzz_require(!request.parts.empty() && !request.options.model.empty());
      });
  return 0;
}
