#pragma once

#include "weft/kernels/activation.h"

namespace weft {

class SpecTableReader;

/// The table's `activation`, by the names that Hugging Face's configs use; the reader's scope keeps
/// errors.
[[nodiscard]] Activation activation_of(const SpecTableReader& reader);

}  // namespace weft
