#include <cstddef>
#include <cstdint>

#include "weft/core/io/byte_reader.h"
#include "weft/model/checkpoint/pickle/pickle.h"
#include "weft/tests/fixture/fuzz_input.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::ByteReader reader(weft::test::fuzz_bytes(data, size));
  weft::PickleReader pickle("input");
  while (reader.remaining() > 0) {
    const auto root = pickle.read(reader);
    if (!weft::test::accepted(root)) break;
    weft::test::fuzz_require(*root < pickle.size());
  }
  return 0;
}
