#include "weft/text/tokenizer/model/unigram.h"

#include <algorithm>
#include <utility>

#include "weft/core/text/utf8.h"
#include "weft/text/tokenizer/byte_alphabet.h"

namespace weft {
namespace {

// SentencePiece's constant: the score of an unknown character below the worst token.
constexpr double kUnknownPenalty = 10.0;

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

ByteTrie plain_token_trie(const TokenTable& tokens, const std::vector<bool>& plain) {
  std::vector<std::pair<std::string_view, TokenId>> entries;
  for (TokenId id = 0; id < static_cast<TokenId>(tokens.size()); ++id) {
    if (plain[static_cast<std::size_t>(id)]) entries.emplace_back(tokens.text(id), id);
  }
  return ByteTrie(std::move(entries));
}

std::vector<TokenId> byte_tokens_of(const TokenTable& tokens) {
  std::vector<TokenId> all;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const TokenId id = tokens.find(byte_token(static_cast<unsigned char>(byte)));
    if (id == kNoToken) return {};
    all.push_back(id);
  }
  return all;
}

}  // namespace

Unigram::Unigram(std::shared_ptr<const TokenTable> tokens, std::vector<double> scores,
                 const std::vector<bool>& plain, TokenId unknown, bool byte_fallback)
    : tokens_(std::move(tokens)),
      scores_(std::move(scores)),
      trie_(plain_token_trie(*tokens_, plain)),
      byte_tokens_(byte_fallback ? byte_tokens_of(*tokens_) : std::vector<TokenId>{}),
      unknown_(unknown) {
  const auto lowest = std::ranges::min_element(scores_);
  unknown_score_ = (lowest == scores_.end() ? 0.0 : *lowest) - kUnknownPenalty;
}

void Unigram::encode(std::string_view word, EncodeScratch& scratch,
                     std::vector<TokenId>& out) const {
  scratch.words.encode(word, out, [&] { encode_new(word, scratch, out); });
}

void Unigram::find_paths(std::string_view word, std::vector<EncodeScratch::Path>& paths) const {
  paths.assign(word.size() + 1, {0.0, kNowhere, kNoToken});
  const auto offer = [&](std::size_t end, double score, std::size_t begin, TokenId id) {
    EncodeScratch::Path& path = paths[end];
    if (path.begin == kNowhere || score > path.score) path = {score, begin, id};
  };
  for (std::size_t at = 0; at < word.size();) {
    const double here = paths[at].score;
    const std::size_t length = utf8_length(static_cast<unsigned char>(word[at]));
    bool has_character = false;
    trie_.for_each_prefix(word.substr(at), [&](ByteTrie::Match match) {
      offer(at + match.length, here + scores_[static_cast<std::size_t>(match.id)], at, match.id);
      has_character = has_character || match.length == length;
    });
    if (!has_character) offer(at + length, here + unknown_score_, at, unknown_);
    at += length;
  }
}

void Unigram::encode_new(std::string_view word, EncodeScratch& scratch,
                         std::vector<TokenId>& out) const {
  find_paths(word, scratch.paths);
  // Walks backwards first and notes the beginnings of the pieces, the last one first.
  auto& steps = scratch.symbols;
  steps.clear();
  for (std::size_t end = word.size(); end > 0; end = scratch.paths[end].begin) {
    steps.push_back(static_cast<TokenId>(end));
  }
  std::size_t begin = 0;
  std::size_t unknown_begin = kNowhere;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const auto end = static_cast<std::size_t>(*step);
    const TokenId id = scratch.paths[end].id;
    if (id == unknown_) {
      if (unknown_begin == kNowhere) unknown_begin = begin;
    } else {
      if (unknown_begin != kNowhere) {
        append_unknown(word.substr(unknown_begin, begin - unknown_begin), out);
      }
      unknown_begin = kNowhere;
      out.push_back(id);
    }
    begin = end;
  }
  if (unknown_begin != kNowhere) append_unknown(word.substr(unknown_begin), out);
}

void Unigram::append_unknown(std::string_view text, std::vector<TokenId>& out) const {
  // Adjacent unknown characters may together be a token, though not on a better path.
  const ByteTrie::Match whole = trie_.longest_prefix(text);
  if (whole.length == text.size()) {
    out.push_back(whole.id);
  } else if (byte_tokens_.empty()) {
    out.push_back(unknown_);
  } else {
    for (const char byte : text) out.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
  }
}

}  // namespace weft
