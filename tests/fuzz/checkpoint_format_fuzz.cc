#include <cstddef>
#include <cstdint>

#include "weft/model/checkpoint/checkpoint_format.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/fuzz_input.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::test::accepted(
      weft::format_of(*weft::test::source_of(weft::test::fuzz_bytes(data, size), "input")));
  return 0;
}
