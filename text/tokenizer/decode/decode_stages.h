#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weft/text/tokenizer/decode/decoder.h"

namespace weft {

/// Makes the stage that writes text to `out`, and the tokens' ends in the whole text to `ends`;
/// both must outlive it.
[[nodiscard]] std::unique_ptr<DecodeStage> make_last_stage(std::string& out,
                                                           std::vector<std::size_t>& ends);

/// Makes the stage for `step`, which writes to `next`; both must outlive it.
[[nodiscard]] std::unique_ptr<DecodeStage> make_stage(const DecoderStep& step, DecodeStage& next);

}  // namespace weft
