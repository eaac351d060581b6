#pragma once

#include <memory>

#include "weft/text/tokenizer/decode/decoder.h"

namespace weft {

/// Writes to `out`, which must outlive it.
[[nodiscard]] std::unique_ptr<DecodeStage> make_last_stage(std::string& out);

/// The stage for `step`, which writes to `next`; both must outlive it.
[[nodiscard]] std::unique_ptr<DecodeStage> make_stage(const DecoderStep& step, DecodeStage& next);

}  // namespace weft
