#pragma once

#include "weft/model/program/program.h"

namespace weft {

/// Assigns an op's output the buffer of a value that the op reads, if that is the value's last use
/// and the operand allows it (Overwrite). So the stream is again one buffer, to which each sublayer
/// adds. Both values must have the same shape and the same name, because a device holds a buffer in
/// one type, and the stream, for example, has another type than a normed row that products read.
/// This is the last pass over a program: afterwards several ops may write a buffer.
[[nodiscard]] Program share_buffers(Program program);

}  // namespace weft
