#include <algorithm>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/model/checkpoint/quantized/quantized.h"
#include "weft/model/checkpoint/safetensors.h"
#include "weft/tests/fixture/files/fuzz_checkpoint.h"
#include "weft/text/json/json_text.h"

/// A configuration, a zero byte and a safetensors file.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostDepth = 32;
  const auto* end = std::find(data, data + size, std::uint8_t{0});
  if (end == data + size) return 0;
  std::string problem;
  const auto config =
      weft::parse_json({reinterpret_cast<const char*>(data), static_cast<std::size_t>(end - data)},
                       kMostDepth, problem);
  if (!problem.empty() || !config.is_object()) return 0;
  const auto rest = static_cast<std::size_t>(data + size - end - 1);
  auto file =
      weft::read_safetensors(weft::test::source_of(weft::test::fuzz_bytes(end + 1, rest), "input"));
  if (!file) return 0;
  auto weights =
      weft::assemble_quantized(std::move(file->tensors), config.as_object(), "config.json");
  if (!weft::test::accepted(weights)) return 0;
  for (const weft::CheckpointTensor& tensor : *weights) {
    const auto bytes = weft::tensor_bytes(tensor.dtype, tensor.shape);
    weft::test::fuzz_require(bytes && static_cast<std::uint64_t>(*bytes) == tensor.size);
    // The tensors' contents may be refused, which is as good as any other answer.
    std::vector<std::byte> blocks(tensor.size);
    if (tensor.read_blocks(0, blocks)) weft::test::touch(blocks);
  }
  return 0;
}
