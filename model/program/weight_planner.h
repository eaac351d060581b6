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

/// Finds the tensors of a program's weights and checks their shapes. It collects every missing
/// tensor and the first misfit instead of stopping at each; result() returns them. Owner only;
/// borrows checkpoint and program.
class WeightPlanner {
 public:
  WeightPlanner(const Architecture& model, const Checkpoint& checkpoint, Program& program)
      : model_(model), checkpoint_(checkpoint), program_(program) {}

  /// One matrix and its bias in the program.
  struct Linear {
    MatrixId weight = kAbsent;
    VectorId bias = kAbsent;
  };

  /// Plans W [outputs, inputs] of one tensor, or the kept part of it; `expert` selects a matrix of
  /// a stack of experts.
  [[nodiscard]] Linear linear(const std::string& name, const LinearBlock& block,
                              std::int64_t outputs, std::int64_t inputs, int expert = kAbsent,
                              const KeptPart& kept = {});

  /// Plans queries, keys and values of `block` as one matrix [(A + 2K) * D, inputs]: only the
  /// requested ones, and only their kept part.
  [[nodiscard]] Linear qkv(const std::string& name, const AttentionBlock& block,
                           std::int64_t inputs, bool queries, bool keys_and_values,
                           const KeptPart& kept = {});

  /// Plans gate and up as one gated matrix, or the kept part of it.
  [[nodiscard]] Linear gated(const std::string& name, const GatedMlpBlock& block,
                             std::int64_t inputs, int expert = kAbsent, const KeptPart& kept = {});

  /// Returns the grain at which the inputs of such a matrix can be cut; 0: nowhere, because its
  /// columns are in another order.
  [[nodiscard]] std::int64_t input_grain(const LinearBlock& block, int expert = kAbsent);

  /// Reduces a vector, if there is one, to a run of its numbers.
  void keep(VectorId vector, const Extent& kept);

  /// Plans a vector of `size` numbers, with one of `names` and `suffix`. `optional`: kAbsent if the
  /// tensor does not exist.
  [[nodiscard]] VectorId vector(const std::string& name, const TensorNames& names,
                                std::string_view suffix, std::int64_t size, bool optional);

  /// Plans [heads, head_size] from one tensor, or from one for each head ("{head}" in its name).
  [[nodiscard]] VectorId head_vectors(const std::string& name, const TensorNames& names,
                                      std::string_view suffix, std::int64_t heads,
                                      std::int64_t head_size, bool optional);

  /// Plans [rows, columns] as it is, or transposed to [columns, rows].
  [[nodiscard]] VectorId table(const std::string& name, const TensorNames& names,
                               std::int64_t columns, bool transposed, std::int64_t* rows);

  [[nodiscard]] VectorId computed(const std::string& name, std::vector<float> values);

  /// Returns the embedding's table [V, size], which is read unchanged.
  [[nodiscard]] const CheckpointTensor* embedding(const TensorNames& names, std::int64_t rows,
                                                  std::int64_t columns);

  /// Holds matrices that one op uses in one type: float32 if their types differ.
  void hold_alike(std::span<const MatrixId> matrices);

  /// Refuses to compile the model; the first reason is kept.
  void refuse(Error error);

  /// Marks the tensor of these names, if it exists, as a copy that the program does not read.
  void pass_over(const TensorNames& names);

  [[nodiscard]] Result<void> result() const;
  /// Returns the numbers in the requested tensors.
  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] std::vector<std::string> unused_tensors() const;

 private:
  /// A rectangle of a tensor, before its place in a matrix is known.
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
