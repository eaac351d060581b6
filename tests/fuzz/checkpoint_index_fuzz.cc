#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/model/checkpoint/checkpoint_index.h"
#include "weft/tests/fixture/fuzz_input.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto index = weft::parse_checkpoint_index(weft::test::fuzz_text(data, size), "input");
  if (!weft::test::accepted(index)) return 0;
  for (const auto& shard : index->shards) {
    weft::test::fuzz_require(!shard.tensors.empty());
    weft::test::fuzz_require(shard.file.find_first_of("/\\") == std::string::npos);
  }
  return 0;
}
