#include <cstddef>
#include <cstdint>

#include "weft/model/checkpoint/llama2c.h"
#include "weft/tests/fixture/files/fuzz_checkpoint.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = weft::test::fuzz_bytes(data, size);
  const auto file = weft::read_llama2c(weft::test::source_of(bytes, "input"));
  weft::test::check_checkpoint(file);
  weft::test::fuzz_require(!file.has_value() || weft::is_llama2c(bytes, size));
  return 0;
}
