#pragma once

#include <string>
#include <string_view>

#include "weft/core/error/error.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// How `program` runs on the GPU that calls itself `gpu`: as `file` says, which may have been
/// measured on another; where it is empty, as the table built in for that GPU says (config/tuning);
/// where there is none, with CudaLinearTable::default_way() and the running maximum. Errors of
/// TuningTable::read().
[[nodiscard]] Result<Tuning> find_tuning(const std::string& file, std::string_view gpu,
                                         const Program& program);

}  // namespace weft::cuda
