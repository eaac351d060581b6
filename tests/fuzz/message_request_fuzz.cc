#include <cstddef>
#include <cstdint>

#include "weft/net/api/messages/message_request.h"
#include "weft/tests/net/api/fields/fuzz_body.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ApiContext context{.card = weft::test::tiny_card()};
  weft::test::fuzz_body(
      data, size, [&](simdjson::dom::object body) { return weft::read_messages(body, context); },
      [](const weft::MessageRequest& request) {
        weft::test::fuzz_require(request.parts.size() == 1 && request.options.max_tokens > 0);
        weft::test::fuzz_require(!request.options.service_tier.empty());
      });
  return 0;
}
