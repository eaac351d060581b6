#include "weft/measure/engine/measured_model.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "weft/measure/measure_error.h"
#include "weft/text/tokenizer/vocabulary.h"

namespace weft::measure {
namespace {

/// "a", "b", ..., "z", "aa", "ab", ...
std::string word(std::size_t number) {
  constexpr std::size_t kLetters = 26;
  std::string text;
  for (std::size_t rest = number + 1; rest > 0; rest = (rest - 1) / kLetters) {
    text.insert(text.begin(), static_cast<char>('a' + (rest - 1) % kLetters));
  }
  return text;
}

/// Makes a tokenizer of special tokens, bytes and words. Nobody reads its texts, but they are sent
/// like real texts.
Tokenizer made_up_tokenizer(std::size_t size) {
  Vocabulary vocabulary;
  vocabulary.model = Vocabulary::Model::kSentencePieceBpe;
  using Type = Vocabulary::TokenType;
  const auto add = [&](std::string text, Type type) {
    if (vocabulary.tokens.size() == size) return;
    vocabulary.scores.push_back(-static_cast<float>(vocabulary.tokens.size()));
    vocabulary.tokens.push_back(std::move(text));
    vocabulary.types.push_back(type);
  };
  add("<unk>", Type::kUnknown);
  add("<s>", Type::kControl);
  add("</s>", Type::kControl);
  for (unsigned byte = 0; byte < 256; ++byte) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    add(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">", Type::kByte);
  }
  for (std::size_t i = 0; vocabulary.tokens.size() < size; ++i) {
    add("\u2581" + word(i), Type::kNormal);
  }
  vocabulary.special = {.bos = 1, .eos = 2, .unknown = 0};
  return Tokenizer::from_vocabulary(vocabulary, "random").value();
}

}  // namespace

Result<MeasuredModel> open_measured_model(const std::filesystem::path& path,
                                          const std::filesystem::path& spec,
                                          std::string_view weights,
                                          const std::filesystem::path& adapter) {
  auto opened = open_model(path, spec, weights, adapter);
  if (!opened) return opened.error();
  if (!opened->program->generates()) {
    return Error{MeasureErrc::kBadLoad, path.string() + ": an encoder, which generates nothing"};
  }
  auto tokenizer = load_tokenizer(path);
  if (!tokenizer) return tokenizer.error();
  std::string name = path.string();
  if (!adapter.empty()) name.append(", adapter ").append(adapter.string());
  if (!weights.empty()) name.append(", weights as ").append(weights);
  return MeasuredModel{std::move(name), *std::move(opened), *std::move(tokenizer)};
}

MeasuredModel make_random_model(std::string name, const LlamaShape& shape, std::uint32_t seed) {
  const RandomLlama llama(shape, seed);
  return {std::move(name), llama.opened(),
          made_up_tokenizer(static_cast<std::size_t>(shape.vocabulary))};
}

}  // namespace weft::measure
