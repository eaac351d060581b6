#pragma once

#include <string_view>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

class Spec;
struct Program;

/// Returns a checkpoint of the same model whose matrices have the types that `weft quantize --type`
/// would write (quantize_type_named()). A matrix is encoded when it is read. Each reading thread
/// holds some MiB of its numbers, and nothing is written to a file. So a device's loader encodes on
/// as many threads as it reads with. A part of a row costs as much as the whole row. `program` is
/// compiled from `checkpoint`, by the spec `family`. kCannotQuantize for an unknown type, for
/// weights that are already encoded, and if the type needs an importance matrix; reading a tensor
/// has the errors of RowEncoder::encode().
[[nodiscard]] Result<Checkpoint> quantized_checkpoint(const Checkpoint& checkpoint,
                                                      const Program& program, const Spec& family,
                                                      std::string_view type);

}  // namespace weft
