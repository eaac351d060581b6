#pragma once

#include <filesystem>
#include <memory>

#include "weft/core/error/error.h"
#include "weft/model/open_model.h"
#include "weft/text/tokenizer/tokenizer.h"

namespace weft {

/// Opens the draft model at `path`, which guesses the tokens of an opened model
/// (Config::speculation_model). Errors of open_model() and load_tokenizer(). DeviceErrc::kUnfit for
/// a draft model whose tokens have other texts than the model's; where one of the two has no
/// tokenizer files, the sizes of their vocabularies are compared. Each error begins with
/// speculation.model.
[[nodiscard]] Result<std::shared_ptr<const OpenedModel>> open_draft_model(
    const OpenedModel& model, const Tokenizer& tokenizer, const std::filesystem::path& path);

}  // namespace weft
