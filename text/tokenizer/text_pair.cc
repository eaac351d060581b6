#include "weft/text/tokenizer/text_pair.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/text/text_error.h"
#include "weft/text/tokenizer/post_processor.h"

namespace weft {
namespace {

void append(std::vector<TokenId>& out, std::span<const TokenId> tokens) {
  out.insert(out.end(), tokens.begin(), tokens.end());
}

/// Keeps at most `most` tokens: the last ones where the beginning is cut, else the first ones.
void keep(std::vector<TokenId>& tokens, std::size_t most, bool cut_begin) {
  if (tokens.size() <= most) return;
  if (cut_begin) {
    const auto extra = static_cast<std::ptrdiff_t>(tokens.size() - most);
    tokens.erase(tokens.begin(), tokens.begin() + extra);
  } else {
    tokens.resize(most);
  }
}

/// Takes tokens from the longer text first, like LongestFirst of Hugging Face's tokenizers
/// (tokenizers/src/utils/truncation.rs).
void cut_longest(std::size_t room, bool cut_begin, std::vector<TokenId>& first,
                 std::vector<TokenId>& second) {
  std::size_t shorter = first.size();
  std::size_t longer = second.size();
  const bool swapped = shorter > longer;
  if (swapped) std::swap(shorter, longer);
  longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  if (swapped) std::swap(shorter, longer);
  keep(first, shorter, cut_begin);
  keep(second, longer, cut_begin);
}

}  // namespace

Result<void> encode_cut(const Tokenizer& tokenizer, std::string_view text, const TextCut& cut,
                        std::vector<TokenId>& out) {
  const auto before = tokenizer.tokens_before();
  const auto after = tokenizer.tokens_after();
  std::vector<TokenId> own;
  auto encoded = tokenizer.encode(text, {.add_special = false}, own);
  if (!encoded) return encoded;
  const std::size_t around = before.size() + after.size();
  keep(own, std::min(cut.own, cut.tokens - std::min(cut.tokens, around)), cut.begin);
  append(out, before);
  append(out, own);
  append(out, after);
  return {};
}

Result<std::int32_t> encode_pair(const Tokenizer& tokenizer, const TextPair& texts,
                                 const PairBound& bound, std::vector<TokenId>& out) {
  const PairForm* const form = tokenizer.pair_form();
  if (form == nullptr) {
    return Error{TextErrc::kUnknownTokenizerPart, "how two texts are put together"};
  }
  std::vector<TokenId> first;
  std::vector<TokenId> second;
  for (const auto& [text, ids] :
       {std::pair(texts.first, &first), std::pair(texts.second, &second)}) {
    auto encoded = tokenizer.encode(text, {.add_special = false}, *ids);
    if (!encoded) return encoded.error();
  }
  keep(second, bound.second, bound.cut_begin);
  const std::size_t around = form->before.size() + form->between.size() + form->after.size();
  const std::size_t whole = around + first.size() + second.size();
  if (whole > bound.tokens) {
    if (!bound.cuts || around > bound.tokens) return too_many_tokens(whole);
    cut_longest(bound.tokens - around, bound.cut_begin, first, second);
  }
  const std::size_t begin = out.size();
  append(out, form->before);
  append(out, first);
  append(out, form->between);
  const std::size_t second_text = out.size() - begin;
  append(out, second);
  append(out, form->after);
  return static_cast<std::int32_t>(form->types_differ ? second_text : 0);
}

}  // namespace weft
