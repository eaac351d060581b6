#include "weft/cli/commands/model_folder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "weft/cli/fail.h"
#include "weft/core/io/file.h"
#include "weft/core/io/output.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

// Files beside the weights are texts; a larger file has weights of another kind.
constexpr std::uintmax_t kMostCopied = std::uintmax_t{64} << 20;
constexpr std::array<std::string_view, 8> kWeightEndings = {
    ".safetensors", ".bin", ".pt", ".pth", ".gguf", ".onnx", ".h5", ".msgpack"};
constexpr std::string_view kIndexEnding = ".index.json";
constexpr std::string_view kAdapterConfig = "adapter_config.json";

bool is_copied(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  if (!entry.is_regular_file() || name.starts_with('.') || name.ends_with(kIndexEnding) ||
      name == kAdapterConfig)
    return false;
  return entry.file_size() <= kMostCopied &&
         std::ranges::none_of(kWeightEndings,
                              [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

void copy_companions(std::string_view verb, const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    if (!is_copied(entry)) continue;
    const auto text = value_or_fail(verb, read_text_file(entry.path(), kAnySize));
    const OutputFile copy = value_or_fail(verb, OutputFile::create(to / entry.path().filename()));
    value_or_fail(verb, copy.write(0, std::as_bytes(std::span(text))));
    value_or_fail(verb, copy.sync());
  }
}

}  // namespace weft::cli
