#include "weft/actors/request/vectors/vector_reader.h"

#include <cstddef>
#include <utility>

namespace weft {

VectorReader::VectorReader(std::shared_ptr<const VectorModel> model, const VectorWish& wish,
                           std::int32_t tokens)
    : model_(std::move(model)),
      wish_(wish),
      pooled_(model_->pooling, static_cast<std::size_t>(model_->hidden), tokens) {}

std::vector<float> VectorReader::vector() const {
  std::vector<float> pooled = pooled_.vector();
  if (wish_.kind == VectorWish::Kind::kScores) {
    return model_->score(std::move(pooled), wish_.raw_scores);
  }
  const bool unit = wish_.unit.value_or(model_->gives_unit_vectors());
  return model_->embedding(std::move(pooled), unit, wish_.dimensions);
}

}  // namespace weft
