#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"

namespace weft {

/// Replaces the tensors that make up a quantized checkpoint's weights by the weights themselves:
/// each is `MODULE.weight` [outputs, inputs] in an encoding, and its blocks are put together when
/// they are read. `config` is the model's, of `file`: without `quantization_config` (or
/// `compression_config`) the tensors are returned as they are. Errors: kUnsupportedFormat for a
/// `quant_method`, or a setting of one, that is not read; kBadConfig; kBadCheckpoint where tensors
/// do not fit.
[[nodiscard]] Result<std::vector<CheckpointTensor>> assemble_quantized(
    std::vector<CheckpointTensor> tensors, const boost::json::object& config,
    const std::string& file);

}  // namespace weft
