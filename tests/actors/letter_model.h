#pragma once

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <string>
#include <utility>

#include "weft/actors/loading/served_model.h"

namespace weft::test {

inline constexpr std::int64_t kLetters = 48;

inline std::string letters_of(TokenId token) {
  return {static_cast<char>('a' + token % 6), static_cast<char>('a' + token / 6)};
}

/// A model of kLetters tokens of two letters each, with no end token of its own.
inline ServedModel letter_model(std::int64_t context) {
  namespace json = boost::json;
  json::object vocabulary;
  for (TokenId token = 0; token < kLetters; ++token) vocabulary[letters_of(token)] = token;
  const json::object words = {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "aa"}};
  const json::object all = {{"model", words}, {"decoder", {{"type", "Fuse"}}}};
  ServedModel model{.tokenizer = Tokenizer::from_json(json::serialize(all), "letters").value()};
  model.vocabulary = kLetters;
  model.context = context;
  return model;
}

}  // namespace weft::test
