#include <cmath>
#include <cstddef>
#include <cstdint>

#include "weft/model/quantize/importance.h"
#include "weft/tests/fixture/files/fuzz_checkpoint.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weft::test::fuzz_require;
  const auto read =
      weft::read_importance(weft::test::source_of(weft::test::fuzz_bytes(data, size), "input"));
  if (!weft::test::accepted(read)) return 0;
  fuzz_require(!read->empty());
  for (const auto& [name, values] : *read) {
    for (const float value : values) fuzz_require(std::isfinite(value) && value >= 0);
  }
  return 0;
}
