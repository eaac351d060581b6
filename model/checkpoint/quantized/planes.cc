#include "weft/model/checkpoint/quantized/planes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "weft/model/checkpoint/quantized/raw_tensors.h"
#include "weft/model/checkpoint/tensor_values.h"

namespace weft {
namespace {

constexpr std::int64_t kWordBytes = 4;
constexpr std::int64_t kUnit = 32;  // integers that fill whole words with any number of bits

// The place of each output among the eight of AWQ's word.
constexpr std::array<std::int64_t, 8> kAwqPlaces = {0, 4, 1, 5, 2, 6, 3, 7};

std::uint32_t word_at(const std::byte* from) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

/// Unpacks 32 integers from as many words as they have bits.
template <unsigned kBits>
void spread(const std::uint32_t* words, std::uint8_t* out) {
  for (unsigned i = 0; i < static_cast<unsigned>(kUnit); ++i) {
    const unsigned bit = i * kBits;
    const unsigned word = bit / 32;
    const unsigned shift = bit % 32;
    std::uint32_t code = words[word] >> shift;
    if (shift + kBits > 32) code |= words[word + 1] << (32 - shift);
    out[i] = static_cast<std::uint8_t>(code & ((1U << kBits) - 1));
  }
}

void spread(int bits, const std::uint32_t* words, std::uint8_t* out) {
  if (bits == 2) spread<2>(words, out);
  if (bits == 3) spread<3>(words, out);
  if (bits == 4) spread<4>(words, out);
  if (bits == 8) spread<8>(words, out);
}

}  // namespace

Result<Band> read_band(const CheckpointTensor& tensor, std::int64_t width,
                       const Rectangle& rectangle) {
  const std::int64_t bytes = rectangle.end_byte - rectangle.first_byte;
  const std::int64_t lines = rectangle.end - rectangle.first;
  Band band{std::vector<std::byte>(static_cast<std::size_t>(lines * bytes)), rectangle.first, bytes,
            rectangle.first_byte};
  if (bytes == width) {
    const auto read = tensor.read(static_cast<std::uint64_t>(rectangle.first * width), band.bytes);
    if (!read) return read.error();
    return band;
  }
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::int64_t from = (rectangle.first + line) * width + rectangle.first_byte;
    const auto read = tensor.read(
        static_cast<std::uint64_t>(from),
        std::span(band.bytes)
            .subspan(static_cast<std::size_t>(line * bytes), static_cast<std::size_t>(bytes)));
    if (!read) return read.error();
  }
  return band;
}

std::vector<std::int64_t> CodePlane::shape() const {
  const std::int64_t packed = packing_.along_outputs ? outputs_ : columns_;
  const std::int64_t other = packing_.along_outputs ? columns_ : outputs_;
  if (packing_.is_signed) return {outputs_, columns_};
  if (packing_.words_are_lines) return {words(packed), other};
  return {other, words(packed)};
}

Result<Band> CodePlane::read(std::int64_t first, std::int64_t count) const {
  const std::int64_t end = first + count;
  const std::vector<std::int64_t> lines = shape();
  const std::int64_t width = lines[1] * (packing_.is_signed ? 1 : kWordBytes);
  if (!packing_.along_outputs && !packing_.words_are_lines)
    return read_band(tensor_, width, {first, end, 0, width});
  if (!packing_.along_outputs)
    return read_band(tensor_, width, {0, lines[0], first * kWordBytes, end * kWordBytes});
  // The whole words that contain the outputs; in AWQ's order eight outputs are one word.
  const std::int64_t from = first / 32 * packing_.bits;
  const std::int64_t to = std::min(words(outputs_), (end + 31) / 32 * packing_.bits);
  if (packing_.words_are_lines) return read_band(tensor_, width, {from, to, 0, width});
  return read_band(tensor_, width, {0, lines[0], from * kWordBytes, to * kWordBytes});
}

void CodePlane::unpack(const Band& band, std::int64_t first, std::int64_t count,
                       std::span<std::uint8_t> out) const {
  if (packing_.is_signed) {
    unpack_bytes(band, first, count, out.data());
  } else if (packing_.along_outputs) {
    unpack_across(band, first, count, out.data());
  } else {
    unpack_columns(band, first, count, out.data());
  }
}

void CodePlane::unpack_bytes(const Band& band, std::int64_t first, std::int64_t count,
                             std::uint8_t* out) const {
  const std::byte* from = band.bytes.data() + (first - band.first_line) * band.stride;
  for (std::int64_t i = 0; i < count * columns_; ++i) {
    out[i] = std::to_integer<std::uint8_t>(from[i]) ^ 0x80U;
  }
}

void CodePlane::unpack_columns(const Band& band, std::int64_t first, std::int64_t count,
                               std::uint8_t* out) const {
  const std::byte* from = band.bytes.data();
  std::int64_t word_step = kWordBytes;
  std::int64_t output_step = band.stride;
  if (packing_.words_are_lines) {
    std::swap(word_step, output_step);
    from += first * kWordBytes - band.first_byte;
  } else {
    from += (first - band.first_line) * band.stride;
  }
  std::array<std::uint32_t, 8> words{};
  for (std::int64_t column = 0; column < columns_; column += kUnit) {
    const std::byte* unit = from + column / kUnit * packing_.bits * word_step;
    for (std::int64_t row = 0; row < count; ++row) {
      const std::byte* at = unit + row * output_step;
      for (std::size_t i = 0; i < static_cast<std::size_t>(packing_.bits); ++i, at += word_step) {
        words[i] = word_at(at);
      }
      spread(packing_.bits, words.data(), out + row * columns_ + column);
    }
  }
}

void CodePlane::unpack_across(const Band& band, std::int64_t first, std::int64_t count,
                              std::uint8_t* out) const {
  const bool in_lines = packing_.words_are_lines;
  const std::int64_t column_step = in_lines ? kWordBytes : band.stride;
  const std::int64_t word_step = in_lines ? band.stride : kWordBytes;
  // One of both is 0: either lines are whole, or all lines are there.
  const std::int64_t skipped = band.first_line * word_step + band.first_byte;
  const auto bits = static_cast<unsigned>(packing_.bits);
  for (std::int64_t column = 0; column < columns_; ++column) {
    const std::int64_t line = column * column_step - skipped;
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t output = first + row;
      const std::int64_t place =
          packing_.awq ? output / 8 * 8 + kAwqPlaces[static_cast<std::size_t>(output % 8)] : output;
      const std::int64_t bit = place * packing_.bits;
      const std::byte* at = band.bytes.data() + (line + bit / 32 * word_step);
      const auto shift = static_cast<unsigned>(bit % 32);
      std::uint32_t word = word_at(at) >> shift;
      if (shift + bits > 32) word |= word_at(at + word_step) << (32 - shift);
      out[row * columns_ + column] = static_cast<std::uint8_t>(word & ((1U << bits) - 1));
    }
  }
}

Result<Band> ScalePlane::read(std::int64_t first, std::int64_t count) const {
  const std::int64_t size = block_of(tensor_.dtype).bytes;
  std::int64_t begin = first / layout_.outputs_each;
  std::int64_t end = (first + count - 1) / layout_.outputs_each + 1;
  if (layout_.outputs == 1) {
    begin = 0;
    end = 1;
  }
  if (layout_.transposed) {
    return read_band(tensor_, layout_.outputs * size,
                     {0, layout_.columns, begin * size, end * size});
  }
  const std::int64_t width = layout_.columns * size;
  return read_band(tensor_, width, {begin, end, 0, width});
}

Result<void> ScalePlane::widen(const Band& band, std::int64_t output, std::span<float> out) const {
  const std::int64_t size = block_of(tensor_.dtype).bytes;
  const std::int64_t line = layout_.outputs == 1 ? 0 : output / layout_.outputs_each;
  const std::byte* from = band.bytes.data();
  std::int64_t stride = 1;
  if (layout_.transposed) {
    from += line * size - band.first_byte;
    stride = band.stride / size;
  } else {
    from += (line - band.first_line) * band.stride;
  }
  widen_values(tensor_.dtype, from, 0, stride, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i]))
      return bad_raw(tensor_, "has a scale that is not a finite number, for output " +
                                  std::to_string(output) + ", group " + std::to_string(i));
  }
  return {};
}

}  // namespace weft
