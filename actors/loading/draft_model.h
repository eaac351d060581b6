#pragma once

#include <filesystem>
#include <memory>

#include "weft/core/error/error.h"
#include "weft/model/open_model.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Opens the draft model at `path`, which guesses the tokens of `model`
/// (Config::speculation_model). Compares the tokens of both tokenizers; if one of the models has no
/// tokenizer files, compares the sizes of the vocabularies. DeviceErrc::kUnfit: they differ; errors
/// of open_model() and load_tokenizer(). The text of each error begins with speculation.model.
[[nodiscard]] Result<std::shared_ptr<const OpenedModel>> open_draft_model(
    const OpenedModel& model, const Tokenizer& tokenizer, const std::filesystem::path& path);

}  // namespace weft
