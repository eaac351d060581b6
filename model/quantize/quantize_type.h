#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/model/quantize/mix.h"

namespace weft {

/// The meaning of a type's name, as `weft quantize --type` takes it.
struct QuantizeType {
  std::string name;  ///< Weft's spelling
  DType dtype = DType::kF16;
  const Mix* mix = nullptr;  ///< llama.cpp's mix of this name; null if there is none
};

/// Finds the type for the name `typed`: a mix of llama.cpp's by name or number ("Q4_K_M",
/// "MOSTLY_Q4_K_M", "15"), a type of Weft's ("q4_b64"), or a type by Inferflow's name ("Q3H"). Case
/// does not matter, and "-" is "_". The error lists similar names.
[[nodiscard]] Result<QuantizeType> quantize_type_named(std::string_view typed);

/// Finds the type of a single tensor, which cannot be a mix.
[[nodiscard]] Result<DType> tensor_type_named(std::string_view typed);

/// Returns all names of types, grouped by their origin, for the help text.
[[nodiscard]] std::string quantize_types_help();

}  // namespace weft
