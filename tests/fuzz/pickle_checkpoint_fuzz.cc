#include <cstddef>
#include <cstdint>

#include "weft/model/checkpoint/pickle/pickle_checkpoint.h"
#include "weft/tests/fixture/files/fuzz_checkpoint.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::test::check_checkpoint(weft::read_pickle_checkpoint(
      weft::test::source_of(weft::test::fuzz_bytes(data, size), "input")));
  return 0;
}
