#pragma once

#include "weft/kernels/activation.h"

namespace weft {

class SpecTableReader;

/// Returns the table's `activation`, by its name in Hugging Face's configs; the reader's scope
/// keeps errors.
[[nodiscard]] Activation activation_of(const SpecTableReader& reader);

}  // namespace weft
