#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/core/io/byte_reader.h"

namespace weft {

/// The types of GGUF's metadata, by their numbers in the file.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};

/// An array that was checked and not decoded: `count` numbers, or strings with their lengths.
struct GgufArray {
  GgufType type = GgufType::kU8;
  std::uint64_t count = 0;
  std::span<const std::byte> bytes;
};

/// The place of a key's type and value in the file.
struct GgufPlace {
  std::string_view key;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The metadata of one GGUF file. Borrows from the file's bytes.
struct GgufMetadata {
  /// All values except the tokenizer's arrays and arrays of more than 1024 elements. Integers are
  /// int64 if they fit.
  boost::json::object values;
  /// The arrays whose keys begin with "tokenizer.".
  std::map<std::string_view, GgufArray> tokenizer_arrays;
  std::vector<GgufPlace> places;  ///< places of all keys, in the file's order
  std::uint64_t alignment = 32;   ///< Tensors begin at its multiples, from their section's start.
};

/// Reads `count` pairs of key and value. kBadCheckpoint if a pair is missing, a type is unknown, a
/// key occurs twice, a text is longer than 16 MiB or not UTF-8 (the tokenizer's arrays may have any
/// bytes), arrays nest deeper than 4, or general.alignment is not a u32 power of two up to 65,536.
[[nodiscard]] Result<GgufMetadata> read_gguf_metadata(FieldReader& fields, std::uint64_t count,
                                                      std::string_view file);

}  // namespace weft
