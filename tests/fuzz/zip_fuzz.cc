#include <cstddef>
#include <cstdint>

#include "weft/model/checkpoint/pickle/zip.h"
#include "weft/tests/fixture/files/tensor_bytes.h"
#include "weft/tests/fixture/fuzz_input.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = weft::test::fuzz_bytes(data, size);
  const auto archive = weft::ZipArchive::read(*weft::test::source_of(bytes, "input"));
  if (!weft::test::accepted(archive)) return 0;
  std::size_t total = 0;
  for (const weft::ZipEntry& entry : archive->entries()) {
    weft::test::touch(bytes.subspan(entry.offset, entry.size));
    weft::test::fuzz_require(archive->find(entry.name) == &entry);
    total += entry.size;
  }
  weft::test::fuzz_require(total <= bytes.size());  // nothing is counted twice
  return 0;
}
