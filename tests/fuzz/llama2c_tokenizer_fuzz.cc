#include <cstddef>
#include <cstdint>
#include <iterator>

#include "weft/model/checkpoint/llama2c.h"
#include "weft/tests/fixture/fuzz_input.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first byte says how many tokens the model has.
  if (size == 0) return 0;
  const auto tokens = std::int64_t{*data};
  const auto vocabulary =
      weft::read_llama2c_tokenizer(weft::test::fuzz_bytes(data + 1, size - 1), "input", tokens);
  if (!weft::test::accepted(vocabulary)) return 0;
  weft::test::fuzz_require(std::ssize(vocabulary->tokens) == tokens);
  return 0;
}
