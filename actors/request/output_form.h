#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/core/error/error.h"
#include "weft/core/token.h"
#include "weft/text/format/model_format.h"
#include "weft/text/format/output_parser.h"

namespace weft {

/// How a request's outputs are parsed.
struct OutputForm {
  std::shared_ptr<const ModelFormat> format{};  ///< null: an output is only text
  ParserOptions parser{};
  /// Schema places that outputs need not follow (CompiledOutput::not_enforced); null: none.
  std::shared_ptr<const std::vector<std::string>> not_enforced{};
};

/// Compiles the outputs' form, including thoughts and calls, and sets it as the sampler's
/// constraint. Returns how outputs are parsed. kBadRequest names the field.
[[nodiscard]] Result<OutputForm> constrain_output(Request& request, std::span<const TokenId> prompt,
                                                  const ServedModel& model);

/// Returns the tokens that end a request's outputs: its own and the model's.
[[nodiscard]] std::vector<TokenId> end_tokens_of(const SamplingParams& sampling,
                                                 const ServedModel& model);

}  // namespace weft
