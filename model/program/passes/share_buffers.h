#pragma once

#include "weft/model/program/program.h"

namespace weft {

/// Lets what an op writes stand in the buffer of a value that it reads, where that is the value's
/// last use and the op's operand allows it (Overwrite); so the stream is one buffer again, which
/// each sublayer adds to. The two must be of one shape and one name: a device holds a buffer in one
/// type, and the stream, say, in another one than a normed row that products read. The last pass
/// over a program, in which buffers are written more than once afterwards.
[[nodiscard]] Program share_buffers(Program program);

}  // namespace weft
