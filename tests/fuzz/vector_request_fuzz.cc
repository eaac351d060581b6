#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/ollama/ollama_embed.h"
#include "weft/net/api/vectors/vectors_api.h"
#include "weft/tests/net/api/fields/fuzz_body.h"

namespace {

constexpr std::size_t kModels = 8;

/// Models that give embeddings and fill masks, and classifiers, of one number to four.
std::vector<weft::ModelCard> make_cards() {
  std::vector<weft::ModelCard> cards;
  for (std::size_t i = 0; i < kModels; ++i) {
    auto model = std::make_shared<weft::ServedModel>(weft::test::tiny_model());
    weft::Vocabulary vocabulary = weft::test::tiny_vocabulary();
    vocabulary.special.mask = weft::test::kAbToken;
    model->tokenizer = weft::Tokenizer::from_vocabulary(vocabulary, "tiny").value();
    const std::size_t size = 1 + i / 2;
    model->vector_facts = {.embeddings = i % 2 == 0, .scores = i % 2 == 1};
    model->vector_facts.size = static_cast<std::int64_t>(size);
    model->vector_facts.labels.resize(size, "label");
    model->vector_facts.mask_fills = i % 2 == 0;
    cards.push_back({.name = "tiny", .created = 1, .model = std::move(model)});
  }
  return cards;
}

/// The answer to whatever the parts give is written.
void check_call(const weft::ApiCall& call, std::size_t size) {
  weft::test::fuzz_require(call.parts.size() <= weft::defaults::kMaxVectorInputs);
  std::vector<weft::Finish> parts(call.parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    weft::test::fuzz_require(call.parts[i].vector.has_value());
    parts[i].vector.assign(size, 0.5F);
    parts[i].masks.resize(1, {{3, 0.5F, "a", "a"}});
  }
  weft::EventBatch out(weft::Framing::kBody);
  call.writer->begin(out);
  call.writer->end(parts, out);
  weft::test::fuzz_require(!out.bytes().empty());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const std::vector<weft::ModelCard> cards = make_cards();
  const weft::ModelCard& card = cards[*data % kModels];  // the first byte says which
  const weft::ApiContext context{.card = card, .id = "1"};
  const auto numbers = static_cast<std::size_t>(card.model->vector_facts.size);
  for (auto* const decode :
       {weft::decode_embeddings, weft::decode_rerank, weft::decode_score, weft::decode_classify,
        weft::decode_fill_mask, weft::decode_ollama_embed, weft::decode_ollama_embeddings}) {
    weft::test::fuzz_body(
        data + 1, size - 1, [&](simdjson::dom::object body) { return decode(body, context); },
        [&](const weft::ApiCall& call) { check_call(call, numbers); });
  }
  return 0;
}
