#pragma once

#include "weft/model/program/program.h"

namespace weft {

/// Gives an op's output the buffer of a value that the op reads, where that is the value's last use
/// and the operand allows it (Overwrite). So the stream is one buffer again, to which each sublayer
/// adds. Both values must have one shape and one name, as a device holds a buffer in one type: the
/// stream, for example, in another type than a normed row that products read. This is the last pass
/// over a program: afterwards a buffer may be written more than once.
[[nodiscard]] Program share_buffers(Program program);

}  // namespace weft
