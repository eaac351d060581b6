#include <cstddef>
#include <cstdint>

#include "weft/net/api/ollama/ollama_request.h"
#include "weft/tests/net/api/fields/fuzz_body.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const weft::ApiContext context{.card = weft::test::tiny_card()};
  const auto check = [](const weft::OllamaRequest& request) {
    weft::test::fuzz_require(request.parts.empty() == !request.options.done_reason.empty());
    weft::test::fuzz_require(!request.options.model.empty());
  };
  for (auto* const read : {weft::read_ollama_chat, weft::read_ollama_generate}) {
    weft::test::fuzz_body(
        data, size, [&](simdjson::dom::object body) { return read(body, context); }, check);
  }
  return 0;
}
