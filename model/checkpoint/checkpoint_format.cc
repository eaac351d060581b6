#include "weft/model/checkpoint/checkpoint_format.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/header_bytes.h"
#include "weft/model/checkpoint/llama2c.h"

namespace weft {
namespace {

using namespace std::string_view_literals;

// Bytes that identify a format: tar's header is the longest.
constexpr std::uint64_t kToldFrom = 512;
constexpr std::size_t kSafetensorsHeader = 8;  // offset of the '{' of a safetensors header

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool looks_like_safetensors(std::string_view text) {
  return text.size() > kSafetensorsHeader && text[kSafetensorsHeader] == '{';
}

// Whether it is a zip archive, or a pickle of a protocol that torch.save has ever used.
bool looks_like_pickle(std::string_view text) {
  return text.starts_with("PK\x03\x04"sv) ||
         (text.size() > 1 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5);
}

// torch.save before 0.1.2 wrote tar archives.
bool looks_like_tar(std::string_view text) {
  constexpr std::size_t kOffset = 257;
  return text.size() > kOffset && text.substr(kOffset).starts_with("ustar"sv);
}

struct Magic {
  std::string_view bytes;
  std::string_view what;
};

// Formats that are known but not read.
constexpr std::array kForeign = {
    Magic{"lmgg"sv, "is a ggml file, which came before GGUF"},
    Magic{"fmgg"sv, "is a ggmf file, which came before GGUF"},
    Magic{"tjgg"sv, "is a ggjt file, which came before GGUF"},
    Magic{"algg"sv, "is a ggla file, an adapter from before GGUF"},
    Magic{"\x89HDF\r\n"sv, "is an HDF5 file, as TensorFlow writes them"},
};

}  // namespace

Result<CheckpointFormat> format_of(const ByteSource& file) {
  const auto bytes = read_held(file, 0, std::min(file.size(), kToldFrom));
  if (!bytes) return bytes.error();
  const std::string_view text = text_of(*bytes);
  const std::string_view name = file.name();
  if (text.starts_with("version https://git-lfs.github.com/spec/"sv))
    return bad_checkpoint(name, "is a git-lfs pointer: the file itself was not downloaded");
  if (looks_like_safetensors(text)) return CheckpointFormat::kSafetensors;
  if (looks_like_pickle(text)) return CheckpointFormat::kPickle;
  if (text.starts_with("GGUF"sv)) return CheckpointFormat::kGguf;
  for (const Magic& magic : kForeign) {
    if (text.starts_with(magic.bytes)) return unsupported_checkpoint(name, magic.what);
  }
  if (looks_like_tar(text))
    return unsupported_checkpoint(name, "is a tar archive, as only the first PyTorch wrote them");
  if (is_llama2c(*bytes, file.size())) return CheckpointFormat::kLlama2C;
  return unsupported_checkpoint(name, "begins with " + in_quotes(text.substr(0, 16)) +
                                          ", which is no checkpoint format known here");
}

}  // namespace weft
