#pragma once

#include <string>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// Returns the tuning of `program` on the GPU with the name `gpu`. It comes from `file`, which may
/// have been measured on another GPU. If `file` is empty, it comes from the built-in table of that
/// GPU (config/tuning). If there is none, it is CudaLinearTable::default_way() and the running
/// maximum. Errors of TuningTable::read().
[[nodiscard]] Result<Tuning> find_tuning(const std::string& file, std::string_view gpu,
                                         const Program& program);

}  // namespace weft::cuda
