#include "weft/text/tokenizer/longest_token.h"

#include <algorithm>
#include <string>
#include <variant>

#include "weft/core/error/checked.h"

namespace weft {
namespace {

using Factor = std::optional<std::size_t>;

// A composed character is made of at most 3 characters for each 2 of its bytes, and each of these
// had at most 4 bytes in the text. longest_token_test checks all of Unicode.
constexpr std::size_t kNormalFormShrinks = 6;

// A character of 4 bytes may become one of one byte; no character disappears.
constexpr std::size_t kLowercaseShrinks = 4;

constexpr std::size_t kLongestCharacter = 4;  // bytes

std::size_t ratio_of(std::size_t from, std::size_t to) {
  return std::max<std::size_t>(1, (from + to - 1) / to);
}

/// The most bytes of a text that a step can turn into one byte; nothing when it may drop any
/// number.
struct ShrinkOf {
  Factor operator()(NormalizationForm /*form*/) const { return kNormalFormShrinks; }
  Factor operator()(LowercaseStep /*step*/) const { return kLowercaseShrinks; }
  Factor operator()(const ReplaceStep& step) const {
    const auto* text = std::get_if<std::string>(&step.pattern);
    if (text == nullptr || step.content.empty()) return std::nullopt;
    return ratio_of(text->size(), step.content.size());
  }
  Factor operator()(const PrependStep& /*step*/) const { return 1; }
  Factor operator()(ByteLevelNormalizerStep /*step*/) const { return 1; }
  Factor operator()(StripStep /*step*/) const { return std::nullopt; }
  Factor operator()(StripAccentsStep /*step*/) const { return std::nullopt; }
  Factor operator()(const BertStep& /*step*/) const { return std::nullopt; }
  Factor operator()(NmtStep /*step*/) const { return std::nullopt; }
  Factor operator()(const PrecompiledStep& /*step*/) const { return std::nullopt; }

  Factor operator()(const SplitStep& step) const {
    return step.behavior == SplitBehavior::kRemoved ? Factor() : Factor(1);
  }
  Factor operator()(PrefixSpaceStep /*step*/) const { return 1; }
  Factor operator()(ByteAlphabetStep /*step*/) const { return 1; }
  Factor operator()(const MetaspaceStep& step) const {
    return step.replacement.empty() ? Factor() : Factor(1);
  }
  Factor operator()(FixedLengthStep /*step*/) const { return 1; }
};

struct KeepsWhole {
  bool operator()(const Bpe& model) const { return model.keeps_whole(); }
  bool operator()(const Unigram& model) const { return model.keeps_whole(); }
  bool operator()(const WordPiece& /*model*/) const { return false; }
  bool operator()(const WordLevel& /*model*/) const { return false; }
};

template <class Steps>
Factor multiply(Factor factor, const Steps& steps) {
  for (const auto& step : steps) {
    const Factor next = std::visit(ShrinkOf{}, step);
    if (!factor || !next) return std::nullopt;
    factor = checked_multiply(*factor, *next);
  }
  return factor;
}

}  // namespace

std::optional<std::size_t> longest_token(const TokenizerParts& parts, std::size_t longest_added,
                                         bool parse_special) {
  if (!parts.model || !std::visit(KeepsWhole{}, *parts.model)) return std::nullopt;
  const bool strips = std::ranges::any_of(parts.added, [&](const AddedToken& token) {
    return (token.left_strip || token.right_strip) && (parse_special || !token.special);
  });
  if (strips) return std::nullopt;
  std::size_t longest = std::max(longest_added, kLongestCharacter);
  for (TokenId id = 0; id < static_cast<TokenId>(parts.tokens->size()); ++id) {
    longest = std::max(longest, parts.tokens->text(id).size());
  }
  return multiply(multiply(longest, parts.normalizer.steps()), parts.pre_tokenizer.steps());
}

}  // namespace weft
