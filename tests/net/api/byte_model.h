#pragma once

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/generation_result.h"
#include "weft/text/tokenizer/byte_alphabet.h"

namespace weft::test {

inline constexpr TokenId kByteModelEnd = 256;

/// A model whose tokens are the 256 bytes, and one that ends a text.
inline std::shared_ptr<const ServedModel> byte_model() {
  namespace json = boost::json;
  json::object vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    std::string name;
    append_byte_alphabet(name, std::string(1, static_cast<char>(byte)));
    vocabulary[name] = byte;
  }
  vocabulary["<end>"] = kByteModelEnd;
  const json::object bpe = {
      {"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", json::array()}};
  const json::object all = {{"model", bpe}, {"decoder", {{"type", "ByteLevel"}}}};
  ServedModel model{.tokenizer = Tokenizer::from_json(json::serialize(all), "bytes").value()};
  model.vocabulary = kByteModelEnd + 1;
  model.end_tokens = {kByteModelEnd};
  return std::make_shared<const ServedModel>(std::move(model));
}

/// Makes a delta of the byte model that gives all its bytes as text, each of its token.
inline Delta text_delta(std::string_view text, std::int32_t choice = 0) {
  Delta delta;
  delta.choice = choice;
  delta.text = text;
  for (const char byte : text) {
    delta.token_texts.push_back({.begin = delta.tokens.size(), .size = 1});
    delta.tokens.push_back(static_cast<unsigned char>(byte));
  }
  return delta;
}

/// Adds a token without text to a delta, such as a tag's token.
inline void add_silent_token(Delta& delta, TokenId token, float logprob) {
  delta.token_texts.push_back({.begin = delta.text.size(), .size = 0});
  delta.tokens.push_back(token);
  delta.logprobs.push_back(logprob);
}

/// Makes a delta of a text, a thought and a call, without its end.
inline Delta typed_delta() {
  TypedText text;
  text.add(PieceKind::kReasoning, "hm");
  text.add(PieceKind::kText, "Well");
  text.add(PieceKind::kCallName, "f");
  text.add(PieceKind::kArguments, "{\"a\":");
  Delta delta = text_delta(text.text());
  delta.marks.assign(text.marks().begin(), text.marks().end());
  return delta;
}

/// And the rest of the call.
inline Delta call_end_delta() {
  TypedText text;
  text.add(PieceKind::kArguments, "1}");
  text.add(PieceKind::kCallEnd, {});
  Delta delta = text_delta(text.text());
  delta.marks.assign(text.marks().begin(), text.marks().end());
  return delta;
}

/// Makes the end of a request of one output.
inline Finish finish_of(FinishReason reason, Usage usage = {5, 3}) {
  Finish finish;
  finish.reason = reason;
  finish.choices.push_back({.reason = reason});
  finish.usage = usage;
  return finish;
}

}  // namespace weft::test
