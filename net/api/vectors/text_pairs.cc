#include "weft/net/api/vectors/text_pairs.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/request_fields.h"

namespace weft {
namespace {

float product_of(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return static_cast<float>(sum);
}

}  // namespace

PairJudge TextPairs::judge_of(const BodyFields& fields, const ServedModel& model) {
  const VectorFacts& facts = model.vector_facts;
  need_tokenizer(fields, "model", model);
  if (facts.embeddings) return PairJudge::kEmbeddings;
  if (!facts.scores) {
    fields.fail("model", "gives no vectors, as it has an encoder and a decoder",
                api_code::kUnsupported);
  } else if (facts.size != 1) {
    fields.fail("model",
                "is a classifier of " + std::to_string(facts.size) +
                    " labels; one that judges two texts has one",
                api_code::kUnsupported);
  }
  return PairJudge::kCrossEncoder;
}

void TextPairs::check_copies(const BodyFields& fields, std::string_view name, PairJudge judge,
                             std::span<const std::string> first, std::size_t second) {
  if (judge != PairJudge::kCrossEncoder || first.size() != 1) return;
  if (first.front().size() * second <= defaults::kMaxPairedBytes) return;
  fields.fail(name, std::to_string(first.front().size()) + " bytes with each of " +
                        std::to_string(second) + " texts are more than " +
                        std::to_string(defaults::kMaxPairedBytes));
}

std::vector<Request> TextPairs::parts(const Request& shared, std::vector<std::string> first,
                                      std::vector<std::string> second) const {
  std::vector<Request> parts;
  if (judge_ == PairJudge::kCrossEncoder) {
    for (std::size_t i = 0; i < second.size(); ++i) {
      Request& part = parts.emplace_back(shared);
      part.prompt = first[first.size() == 1 ? 0 : i];
      part.vector->kind = VectorWish::Kind::kScores;
      part.vector->second_text = std::move(second[i]);
    }
    return parts;
  }
  for (std::vector<std::string>* const side : {&first, &second}) {
    for (std::string& text : *side) {
      Request& part = parts.emplace_back(shared);
      part.prompt = std::move(text);
      part.vector->unit = true;
      if (side == &first) part.vector->text_tokens = 0;  // the limit applies to second texts only
    }
  }
  return parts;
}

std::vector<float> TextPairs::scores(std::span<const Finish> parts) const {
  std::vector<float> scores;
  for (std::size_t i = 0; i < second_; ++i) {
    if (judge_ == PairJudge::kCrossEncoder) {
      scores.push_back(parts[i].vector.front());
    } else {
      const Finish& first = parts[first_ == 1 ? 0 : i];
      scores.push_back(product_of(first.vector, parts[first_ + i].vector));
    }
  }
  return scores;
}

}  // namespace weft
