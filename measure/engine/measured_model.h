#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "weft/core/error/error.h"
#include "weft/model/open_model.h"
#include "weft/model/random_llama.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft::measure {

/// A model that is measured in this process.
struct MeasuredModel {
  std::string name;  ///< the name in reports
  OpenedModel opened;
  Tokenizer tokenizer;
};

/// Opens a model with a checkpoint, and the adapter that is named. Errors of open_model() and
/// load_tokenizer(); kBadLoad for an encoder.
[[nodiscard]] Result<MeasuredModel> open_measured_model(const std::filesystem::path& path,
                                                        const std::filesystem::path& spec,
                                                        std::string_view weights = {},
                                                        const std::filesystem::path& adapter = {});

/// Makes a model of a shape, with random weights and a vocabulary of made-up words.
[[nodiscard]] MeasuredModel make_random_model(std::string name, const LlamaShape& shape,
                                              std::uint32_t seed = 1);

}  // namespace weft::measure
