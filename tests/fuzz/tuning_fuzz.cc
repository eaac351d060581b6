#include <cstddef>
#include <cstdint>

#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/tests/fixture/fuzz_input.h"

// A table that is taken prints as one that is the same.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weft::cuda::TuningTable;
  const auto table = TuningTable::parse(weft::test::fuzz_text(data, size), "input");
  if (!weft::test::accepted(table)) return 0;
  const auto again = TuningTable::parse(table->print(), "printed");
  weft::test::fuzz_require(again.has_value() && again->print() == table->print());
  return 0;
}
