#include "weft/text/tokenizer/model/bpe.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/tokenizer/byte_alphabet.h"

namespace weft {
namespace {

// The longest word for which scanning all pairs for the best one is faster than a heap.
constexpr std::size_t kShortWord = 40;

constexpr std::uint32_t kNone = UINT32_MAX;

// In merge_long: marks a symbol that was merged into its left neighbour.
constexpr TokenId kSwallowed = -2;

}  // namespace

Bpe::Bpe(std::shared_ptr<const TokenTable> tokens, const std::vector<bool>& plain,
         BpeOptions options, BpeMerges merges)
    : tokens_(std::move(tokens)),
      plain_(plain),
      options_(std::move(options)),
      merges_(std::move(merges)),
      has_affixes_(!options_.word_begin_not.empty() || !options_.word_end.empty()) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_tokens_[byte] = tokens_->find(byte_token(static_cast<unsigned char>(byte)));
    const std::string character = to_utf8(byte_to_character(static_cast<unsigned char>(byte)));
    for (unsigned place = 0; place < 4; ++place) {
      byte_symbols_[place][byte] = symbol(character, place);
    }
  }
  for (TokenId id = 0; id < static_cast<TokenId>(tokens_->size()); ++id) {
    const std::string_view text = tokens_->text(id);
    longest_ = std::max(longest_, text.size());
    if (text.empty() || utf8_length(static_cast<unsigned char>(text[0])) != text.size()) continue;
    if (tokens_->find(text) == id) characters_.set(utf8_at(text, 0).code, id);
  }
}

TokenId Bpe::symbol(std::string_view character, unsigned place) const {
  if (!has_affixes_) return tokens_->find(character);
  std::string text;
  if ((place & kFirst) == 0) text += options_.word_begin_not;
  text += character;
  if ((place & kLast) != 0) text += options_.word_end;
  return tokens_->find(text);
}

void Bpe::set_extra_symbols(const std::vector<char32_t>& characters) {
  extra_ = characters;
  auto id = static_cast<TokenId>(tokens_->size());
  for (const char32_t code : extra_) characters_.set(code, id++);
}

void Bpe::cut_before(char32_t mark) {
  const std::string text = to_utf8(mark);
  const TokenId alone = tokens_->find(text);
  if (alone == kNoToken || has_affixes_ || options_.over_bytes) return;
  const auto joins = [&](std::string_view token) {
    for (std::size_t at = token.find(text, 1); at < token.size(); at = token.find(text, at + 1)) {
      if (!token.substr(0, at).ends_with(text)) return true;
    }
    return false;
  };
  for (TokenId id = 0; id < static_cast<TokenId>(tokens_->size()); ++id) {
    if (joins(tokens_->text(id))) return;
  }
  mark_ = text;
}

bool Bpe::keeps_whole() const noexcept {
  if (options_.unknown != kNoToken && !options_.fuse_unknown) return true;
  const auto lacks = [](const std::array<TokenId, 256>& ids) {
    return std::ranges::find(ids, kNoToken) != ids.end();
  };
  if (options_.over_bytes) return std::ranges::none_of(byte_symbols_, lacks);
  return options_.byte_fallback && !lacks(byte_tokens_);
}

void Bpe::encode(std::string_view word, EncodeScratch& scratch, std::vector<TokenId>& out) const {
  if (mark_.empty()) return encode_cached(word, options_.whole_words, scratch, out);
  if (options_.whole_words && word.size() <= longest_) {
    const TokenId id = find_word(word, scratch.text);
    if (id != kNoToken) return out.push_back(id);
  }
  std::size_t begin = 0;
  while (begin < word.size()) {
    std::size_t from = begin;
    while (word.substr(from).starts_with(mark_)) from += mark_.size();
    const std::size_t end = std::min(word.find(mark_, from), word.size());
    encode_cached(word.substr(begin, end - begin), false, scratch, out);
    begin = end;
  }
}

void Bpe::encode_cached(std::string_view word, bool whole, EncodeScratch& scratch,
                        std::vector<TokenId>& out) const {
  scratch.words.encode(word, out, [&] { encode_new(word, whole, scratch, out); });
}

TokenId Bpe::find_word(std::string_view word, std::string& buffer) const {
  if (options_.over_bytes) {
    buffer.clear();
    append_byte_alphabet(buffer, word);
    word = buffer;
  }
  const TokenId id = tokens_->find(word);
  return id != kNoToken && plain_[static_cast<std::size_t>(id)] ? id : kNoToken;
}

void Bpe::encode_new(std::string_view word, bool whole, EncodeScratch& scratch,
                     std::vector<TokenId>& out) const {
  if (whole && word.size() <= longest_) {
    const TokenId id = find_word(word, scratch.text);
    if (id != kNoToken) return out.push_back(id);
  }
  scratch.symbols.clear();
  split_into_symbols(word, scratch.symbols);
  if (scratch.symbols.size() <= kShortWord) {
    merge_short(scratch.symbols);
  } else {
    merge_long(scratch);
  }
  if (extra_.empty()) {
    out.insert(out.end(), scratch.symbols.begin(), scratch.symbols.end());
  } else {
    for (const TokenId id : scratch.symbols) append(id, out);
  }
}

void Bpe::split_into_symbols(std::string_view word, std::vector<TokenId>& symbols) const {
  bool unknown_waits = false;
  for (std::size_t at = 0; at < word.size();) {
    const auto lead = static_cast<unsigned char>(word[at]);
    const std::size_t length = options_.over_bytes ? 1 : utf8_length(lead);
    const unsigned place =
        (at == 0 ? kFirst : kInside) | (at + length == word.size() ? kLast : kInside);
    const std::string_view character = word.substr(at, length);
    at += length;
    const TokenId id = options_.over_bytes ? byte_symbols_[place][lead]
                       : has_affixes_      ? symbol(character, place)
                                           : characters_.find(utf8_at(character, 0).code);
    if (id != kNoToken) {
      if (unknown_waits) symbols.push_back(options_.unknown);
      unknown_waits = false;
      symbols.push_back(id);
    } else if (options_.byte_fallback && push_bytes(character, symbols)) {
      // An unknown token that waits comes after these tokens, as in Hugging Face's tokenizers.
    } else if (options_.unknown != kNoToken) {
      if (unknown_waits && !options_.fuse_unknown) symbols.push_back(options_.unknown);
      unknown_waits = true;
    }
  }
  if (unknown_waits) symbols.push_back(options_.unknown);
}

bool Bpe::push_bytes(std::string_view character, std::vector<TokenId>& out) const {
  const auto token = [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
  if (std::ranges::any_of(character, [&](char byte) { return token(byte) == kNoToken; })) {
    return false;
  }
  for (const char byte : character) out.push_back(token(byte));
  return true;
}

void Bpe::merge_short(std::vector<TokenId>& symbols) const {
  std::array<BpeMerges::Rule, kShortWord> rules;
  std::size_t count = symbols.size();
  for (std::size_t i = 0; i + 1 < count; ++i) rules[i] = merges_.find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (rules[i].rank < rules[best].rank) best = i;
    }
    if (rules[best].rank == BpeMerges::kNoRank) break;
    symbols[best] = rules[best].merged;
    --count;
    for (std::size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      rules[i] = rules[i + 1];
    }
    if (best > 0) rules[best - 1] = merges_.find(symbols[best - 1], symbols[best]);
    if (best + 1 < count) rules[best] = merges_.find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(count);
}

void Bpe::merge_long(EncodeScratch& scratch) const {
  auto& list = scratch.list;
  auto& queue = scratch.queue;
  const auto size = static_cast<std::uint32_t>(scratch.symbols.size());
  list.clear();
  queue.clear();
  for (std::uint32_t i = 0; i < size; ++i) {
    list.push_back({scratch.symbols[i], i == 0 ? kNone : i - 1, i + 1 == size ? kNone : i + 1});
  }
  // An entry has a rank and the index of a symbol. An entry that no longer fits its pair is skipped
  // when its turn comes.
  const auto rule_at = [&](std::uint32_t at) {
    const std::uint32_t next = list[at].next;
    return next == kNone ? BpeMerges::Rule{} : merges_.find(list[at].id, list[next].id);
  };
  const auto entry_at = [&](std::uint32_t at, std::uint32_t rank) {
    return (static_cast<std::uint64_t>(rank) << 32) | at;
  };
  const auto push = [&](std::uint32_t at) {
    const std::uint32_t rank = rule_at(at).rank;
    if (rank == BpeMerges::kNoRank) return;
    queue.push_back(entry_at(at, rank));
    std::ranges::push_heap(queue, std::greater{});
  };
  for (std::uint32_t i = 0; i + 1 < size; ++i) {
    const std::uint32_t rank = rule_at(i).rank;
    if (rank != BpeMerges::kNoRank) queue.push_back(entry_at(i, rank));
  }
  std::ranges::make_heap(queue, std::greater{});
  while (!queue.empty()) {
    std::ranges::pop_heap(queue, std::greater{});
    const std::uint64_t entry = queue.back();
    queue.pop_back();
    const auto at = static_cast<std::uint32_t>(entry);
    if (list[at].id == kSwallowed) continue;
    const BpeMerges::Rule rule = rule_at(at);
    if (rule.rank != entry >> 32) continue;
    const std::uint32_t swallowed = list[at].next;
    list[at].id = rule.merged;
    list[at].next = list[swallowed].next;
    list[swallowed].id = kSwallowed;
    if (list[at].next != kNone) list[list[at].next].previous = at;
    if (list[at].previous != kNone) push(list[at].previous);
    push(at);
  }
  scratch.symbols.clear();
  for (std::uint32_t at = 0; at != kNone && at < size; at = list[at].next) {
    scratch.symbols.push_back(list[at].id);
  }
}

void Bpe::append(TokenId id, std::vector<TokenId>& out) const {
  const auto vocabulary = static_cast<TokenId>(tokens_->size());
  if (id < vocabulary) return out.push_back(id);
  const char32_t code = extra_[static_cast<std::size_t>(id - vocabulary)];
  if (!push_bytes(to_utf8(code), out) && options_.unknown != kNoToken) {
    out.push_back(options_.unknown);
  }
}

}  // namespace weft
