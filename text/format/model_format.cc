#include "weft/text/format/model_format.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace weft {

std::shared_ptr<const ModelFormat> ModelFormat::find(const Tokenizer& tokenizer) {
  return make(find_output_format(tokenizer.chat_templates()), tokenizer);
}

std::shared_ptr<const ModelFormat> ModelFormat::make(OutputFormat format,
                                                     const Tokenizer& tokenizer) {
  ModelFormat made{.format = std::move(format)};
  const std::vector<std::string_view> tags = made.format.tags();
  const auto size = static_cast<TokenId>(tokenizer.vocabulary_size());
  for (TokenId id = 0; !tags.empty() && id < size; ++id) {
    if (!tokenizer.is_special(id)) continue;
    const auto text = tokenizer.token(id);
    if (!text || text->empty()) continue;
    const bool is_tag = std::ranges::any_of(
        tags, [&text](std::string_view tag) { return tag.find(*text) != std::string_view::npos; });
    if (is_tag) made.tag_tokens.push_back(id);
  }
  return std::make_shared<const ModelFormat>(std::move(made));
}

}  // namespace weft
