#include "weft/actors/loading/draft_model.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "weft/gpu/device_error.h"

namespace weft {
namespace {

Error unlike(const std::string& why) { return {DeviceErrc::kUnfit, "speculation.model: " + why}; }

Error draft_error(const Error& error) { return {error.code, "speculation.model: " + error.detail}; }

/// Whether an id has the same text in both, or none in both.
bool has_same_text(const Tokenizer& one, const Tokenizer& other, TokenId id) {
  const auto text = one.token(id);
  const auto other_text = other.token(id);
  return text && other_text ? *text == *other_text : !text && !other_text;
}

Result<void> check_same_vocabulary(const OpenedModel& model, const Tokenizer& tokenizer,
                                   const OpenedModel& draft, const Tokenizer& drafted) {
  if (!tokenizer.exists() || !drafted.exists()) {
    const std::int64_t size = model.program->vocabulary;
    const std::int64_t own = draft.program->vocabulary;
    if (own == size) return {};
    return unlike("its vocabulary has " + std::to_string(own) + " tokens, and the model's has " +
                  std::to_string(size));
  }
  const std::size_t size = tokenizer.vocabulary_size();
  if (drafted.vocabulary_size() != size) {
    return unlike("its tokenizer has " + std::to_string(drafted.vocabulary_size()) +
                  " tokens, and the model's has " + std::to_string(size));
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (has_same_text(tokenizer, drafted, static_cast<TokenId>(i))) continue;
    return unlike("token " + std::to_string(i) + " of its tokenizer differs from the model's");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const OpenedModel>> open_draft_model(const OpenedModel& model,
                                                            const Tokenizer& tokenizer,
                                                            const std::filesystem::path& path) {
  auto draft = open_model(path);
  if (!draft) return draft_error(draft.error());
  const auto drafted = load_tokenizer(path);
  if (!drafted) return draft_error(drafted.error());
  if (const auto same = check_same_vocabulary(model, tokenizer, *draft, *drafted); !same) {
    return same.error();
  }
  return std::make_shared<const OpenedModel>(*std::move(draft));
}

}  // namespace weft
