#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/keep_part.h"
#include "weft/model/program/program.h"
#include "weft/model/spec/architecture.h"

namespace weft {

/// Finds the tensors of a program's weights and checks their shapes. Keeps every missing tensor and
/// the first misfit instead of stopping at each; result() tells. Owner only; borrows checkpoint and
/// program.
class WeightPlanner {
 public:
  WeightPlanner(const Architecture& model, const Checkpoint& checkpoint, Program& program)
      : model_(model), checkpoint_(checkpoint), program_(program) {}

  /// One matrix and its bias as the program knows them.
  struct Linear {
    MatrixId weight = kAbsent;
    VectorId bias = kAbsent;
  };

  /// W [outputs, inputs] of one tensor, or the kept part of it; `expert` picks a matrix of a stack
  /// of experts.
  [[nodiscard]] Linear linear(const std::string& name, const LinearBlock& block,
                              std::int64_t outputs, std::int64_t inputs, int expert = kAbsent,
                              const KeptPart& kept = {});

  /// Queries, keys and values of `block` as one matrix [(A + 2K) * D, inputs]: only the requested
  /// ones, and of them only the kept part.
  [[nodiscard]] Linear qkv(const std::string& name, const AttentionBlock& block,
                           std::int64_t inputs, bool queries, bool keys_and_values,
                           const KeptPart& kept = {});

  /// Gate and up as one gated matrix, or the kept part of it.
  [[nodiscard]] Linear gated(const std::string& name, const GatedMlpBlock& block,
                             std::int64_t inputs, int expert = kAbsent, const KeptPart& kept = {});

  /// The inputs of such a matrix can be cut at multiples of this; 0: nowhere, since its columns
  /// stand in another order.
  [[nodiscard]] std::int64_t input_grain(const LinearBlock& block, int expert = kAbsent);

  /// Reduces a vector, if there is one, to a run of its numbers.
  void keep(VectorId vector, const Extent& kept);

  /// A vector of `size` numbers called one of `names` with `suffix`. `optional`: kAbsent when
  /// absent.
  [[nodiscard]] VectorId vector(const std::string& name, const TensorNames& names,
                                std::string_view suffix, std::int64_t size, bool optional);

  /// [heads, head_size] of one tensor, or of one for each head ("{head}" in its name).
  [[nodiscard]] VectorId head_vectors(const std::string& name, const TensorNames& names,
                                      std::string_view suffix, std::int64_t heads,
                                      std::int64_t head_size, bool optional);

  /// [rows, columns] as it is, or transposed to [columns, rows].
  [[nodiscard]] VectorId table(const std::string& name, const TensorNames& names,
                               std::int64_t columns, bool transposed, std::int64_t* rows);

  [[nodiscard]] VectorId computed(const std::string& name, std::vector<float> values);

  /// The embedding's table [V, size], read as it is.
  [[nodiscard]] const CheckpointTensor* embedding(const TensorNames& names, std::int64_t rows,
                                                  std::int64_t columns);

  /// Matrices that one op computes with are held in one type: in float32 where their types differ.
  void hold_alike(std::span<const MatrixId> matrices);

  /// The model cannot be compiled; the first reason is kept.
  void refuse(Error error);

  /// The tensor of these names, if there is one, is a copy that the program does not read.
  void pass_over(const TensorNames& names);

  [[nodiscard]] Result<void> result() const;
  /// Numbers in the tensors that were asked for.
  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] std::vector<std::string> unused_tensors() const;

 private:
  /// A rectangle of a tensor, before it is known where it goes.
  struct View {
    const CheckpointTensor* tensor = nullptr;
    std::int64_t offset = 0;
    std::int64_t outputs = 0;
    std::int64_t inputs = 0;
    std::int64_t stride_output = 0;
    std::int64_t stride_input = 1;

    [[nodiscard]] MatrixPart part(std::int64_t first, std::int64_t count, std::int64_t to,
                                  std::int64_t step = 1) const;
  };
  struct Builder {
    MatrixPlan matrix;
    VectorPlan bias;
    bool has_bias = false;
  };

  const CheckpointTensor* find(const TensorNames& names, std::string_view suffix, int expert);
  std::optional<View> view(const LinearBlock& block, std::int64_t outputs, std::int64_t inputs,
                           int expert);
  void take_bias(Builder& builder, const LinearBlock& block, std::int64_t outputs, int expert,
                 std::int64_t first, std::int64_t count, std::int64_t to, std::int64_t step = 1);
  void fused_qkv(Builder& builder, const AttentionBlock& block, std::int64_t inputs);
  Linear add(Builder builder, const KeptPart& kept);
  void missing(const TensorNames& names, std::string_view suffix, int expert);
  void misfit(const CheckpointTensor& tensor, const std::string& wanted);

  const Architecture& model_;
  const Checkpoint& checkpoint_;
  Program& program_;
  std::set<const CheckpointTensor*> used_;
  std::set<const CheckpointTensor*> passed_over_;
  std::vector<std::string> missing_;
  std::optional<Error> error_;
};

}  // namespace weft
