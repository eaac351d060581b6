#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// Replaces the tensors of a quantized checkpoint by its weights. Each weight is `MODULE.weight`
/// [outputs, inputs] in an encoding, and its blocks are assembled when they are read. `config` is
/// the model's, from `file`. Without `quantization_config` (or `compression_config`) it returns the
/// tensors unchanged. kUnsupportedFormat for a `quant_method`, or a setting of one, that Weft does
/// not read; kBadConfig; kBadCheckpoint if tensors do not fit.
[[nodiscard]] Result<std::vector<CheckpointTensor>> assemble_quantized(
    std::vector<CheckpointTensor> tensors, const boost::json::object& config,
    const std::string& file);

}  // namespace weft
