#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/actors/request/request.h"
#include "weft/actors/request/vectors/result_reader.h"
#include "weft/gpu/activation_reader.h"
#include "weft/model/vectors/pooling.h"
#include "weft/model/vectors/vector_model.h"

namespace weft {

/// Makes the vector of one request from the hidden states of its prompt. The executor pools them
/// after each step. The detokenizer computes the layers behind the pooling, which may take a
/// millisecond. The messages between the two order their accesses.
class VectorReader final : public ResultReader {
 public:
  /// `tokens`: the prompt's number of tokens.
  VectorReader(std::shared_ptr<const VectorModel> model, const VectorWish& wish,
               std::int32_t tokens);

  [[nodiscard]] std::int32_t first_position() const noexcept override { return pooled_.first(); }
  [[nodiscard]] std::int32_t end_position() const noexcept override { return pooled_.end(); }
  void read(const TokenActivations& token) override {
    pooled_.add(token.position, token.hidden_state);
  }

  [[nodiscard]] bool complete() const noexcept override { return pooled_.complete(); }
  void give(Finish& finish) const override { finish.vector = vector(); }

 private:
  [[nodiscard]] std::vector<float> vector() const;

  const std::shared_ptr<const VectorModel> model_;
  const VectorWish wish_;
  Pooled pooled_;
};

}  // namespace weft
