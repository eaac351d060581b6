#include "weft/model/checkpoint/checkpoint_file.h"

#include <cstddef>

#include "weft/core/error/checked.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

Error in_file(ModelErrc code, std::string_view file, std::string_view what) {
  std::string detail(file);
  detail.append(": ").append(what);
  return {code, std::move(detail)};
}

}  // namespace

std::optional<std::int64_t> tensor_bytes(DType dtype,
                                         std::span<const std::int64_t> shape) noexcept {
  if (!shape.empty() && shape.back() % block_of(dtype).elements != 0) return std::nullopt;
  std::optional<std::int64_t> elements = 1;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    elements = checked_multiply(*elements, dimension);
    if (!elements) return std::nullopt;
  }
  return bytes_of(dtype, *elements);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 96;  // enough for a tensor's name, and far less than a page
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown = "'";
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += c;
    } else {
      shown.append("\\x").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 15U]);
    }
  }
  return shown.append(text.size() > kShown ? "...'" : "'");
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text.append(", ");
    text.append(std::to_string(size));
  }
  return text.append("]");
}

Error bad_checkpoint(std::string_view file, std::string_view what) {
  return in_file(ModelErrc::kBadCheckpoint, file, what);
}

Error unsupported_checkpoint(std::string_view file, std::string_view what) {
  return in_file(ModelErrc::kUnsupportedFormat, file, what);
}

Error bad_bytes(std::string_view file, const Error& error) {
  return bad_checkpoint(file, error.detail);
}

}  // namespace weft
