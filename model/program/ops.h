#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/kernels/attention/attention_spec.h"
#include "weft/kernels/embedding/embedding_spec.h"
#include "weft/kernels/experts/expert_run.h"
#include "weft/kernels/experts/route_spec.h"
#include "weft/kernels/linear/linear_spec.h"
#include "weft/kernels/norm/norm_spec.h"
#include "weft/kernels/rotary/rotary_spec.h"
#include "weft/model/program/operand.h"
#include "weft/model/program/program_part.h"

// The ops of a program. Only the types of an op's fields state its operands: a buffer is an Input,
// an Output, InPlace or a Residual; a weight is a MatrixId, a VectorId or TableRows; angles are a
// RotaryId. operands.h finds the fields for every visitor of operands.

namespace weft {

struct CheckpointTensor;

/// Which KV cache an op uses. Each has its own pages.
enum class KvGroup : std::uint8_t {
  kSelf,    ///< the decoder's own tokens
  kCross,   ///< the encoder's output, which the decoder reads
  kEncoder  ///< the encoder's tokens while it runs; all its layers use the same one layer
};

/// The kinds of an op's work (op_work.h).
enum class WorkKind : std::uint8_t {
  kPass,      ///< reads or writes each number of its rows once
  kLookUp,    ///< kPass, and reads a row of its tables for each of its rows
  kProduct,   ///< kPass, and multiplies the rows with its matrices
  kAttend,    ///< kPass, and multiplies the rows with the keys and values that they see
  kRoute,     ///< kPass, and chooses the experts of later products
  kAdapt,     ///< kPass, and multiplies the rows with the pairs of their adapters
  kExchange,  ///< waits for other ranks
};

/// The properties that all ops of one type share, besides their operands.
struct OpTraits {
  std::string_view name;  ///< in a program's text
  WorkKind work = WorkKind::kPass;
  std::string_view step_input = {};  ///< what it reads from the step itself, in a program's text
};

/// Rows of a checkpoint's table. An op reads one row for each token.
struct TableRows {
  const CheckpointTensor* tensor = nullptr;  ///< null if the op has no table
  Extent rows;                               ///< the rows held here; tokens of other rows get zeros
  friend bool operator==(const TableRows&, const TableRows&) = default;
};

struct EmbedOp {
  static constexpr OpTraits kTraits{
      .name = "embed", .work = WorkKind::kLookUp, .step_input = "ids"};
  TableRows table;
  std::int64_t first_column = 0;  ///< for a table that is wider than `out`
  EmbeddingSpec spec;
  VectorId positions;
  VectorId constant;               ///< [constant_rows, H]; a token gets the row of its type
  std::int64_t constant_rows = 1;  ///< 1: all tokens get the same row
  Output<OperandRows::kTokens> out;
};

struct NormOp {
  static constexpr OpTraits kTraits{.name = "norm"};
  NormSpec spec;
  VectorId weight;
  VectorId bias;
  float scale = 1;
  float sum_scale = 1;
  ReplaceableInput<> in;
  Residual<> residual;
  Output<OperandRows::kOfOp, OperandType::kAny> out;
};

/// The rows of `out` are the op's rows: tokens in their order, or gathered outputs.
struct LinearOp {
  static constexpr OpTraits kTraits{.name = "linear", .work = WorkKind::kProduct};
  LinearSpec spec;
  MatrixId weight;
  VectorId bias;
  Input<OperandRows::kGathered, OperandType::kOfWeightOrCodes> in;
  Residual<> residual;
  Output<OperandRows::kOfOp, OperandType::kAny> out;
  /// For a gated weight: `out` has the gates followed by the ups, [rows, 2N], each with its bias
  /// and residual. An ActivateOp combines them.
  bool gate_apart = false;
};

struct HeadNormPlan {
  HeadNormSpec spec;
  VectorId weight;
  VectorId bias;
};

struct RotaryOp {
  static constexpr OpTraits kTraits{.name = "rotary"};
  InPlace<OperandRows::kTokens> qkv;
  HeadShape shape;
  RotarySpec spec;
  HeadNormPlan query_norm, key_norm, value_norm;
  RotaryId table;  ///< absent if spec.rotary_size is 0
  KvGroup group = KvGroup::kSelf;
  std::int32_t layer = 0;  ///< layer in the group's KV cache
  bool stores = true;
};

struct AttentionOp {
  static constexpr OpTraits kTraits{.name = "attention", .work = WorkKind::kAttend};
  Input<OperandRows::kTokens> queries;
  Output<OperandRows::kTokens, OperandType::kAny> out;
  std::int32_t heads = 0;
  KvGroup group = KvGroup::kSelf;
  std::int32_t layer = 0;
  AttentionSpec spec;
  VectorId alibi_slopes;
  VectorId relative_bias;
  VectorId sinks;
};

/// The device keeps a step's routing; later expert ops read it.
struct RouteOp {
  static constexpr OpTraits kTraits{.name = "route", .work = WorkKind::kRoute};
  Input<OperandRows::kTokens> scores;
  std::int32_t experts = 0;
  RouteSpec spec;
  VectorId selection_bias;
  VectorId weight_scales;
};

/// A linear op for every expert, over the choices of that expert. Rows for experts of other ranks
/// are not written.
struct ExpertLinearOp {
  static constexpr OpTraits kTraits{.name = "experts", .work = WorkKind::kProduct};
  /// The router's index of the first; their number is weights.size().
  std::int32_t first_expert = 0;
  std::vector<MatrixId> weights;  ///< by expert
  std::vector<VectorId> biases;   ///< by expert; kAbsent for an expert without bias
  LinearSpec spec;
  Input<OperandRows::kGathered, OperandType::kOfWeight> in;
  Output<OperandRows::kChoices, OperandType::kAny> out;
};

struct CombineOp {
  static constexpr OpTraits kTraits{.name = "combine"};
  std::int32_t chosen = 1;
  Input<OperandRows::kChoices> in;
  Residual<OperandRows::kTokens> residual;
  Output<OperandRows::kTokens> out;
  /// The experts whose choices are added up; `in` has no numbers of other experts.
  ExpertRun experts;
};

/// out = residual + scales * in; `scales` has one number for a row, or one for each equal run of
/// the row.
struct ScaleRowsOp {
  static constexpr OpTraits kTraits{.name = "scale"};
  ReplaceableInput<OperandRows::kTokens> in;
  Input<OperandRows::kTokens> scales;
  Residual<OperandRows::kTokens> residual;
  Output<OperandRows::kTokens> out;
};

/// The steps after a product's sums (LinearSpec), in an adapted program, where adapters first
/// change the sums. If gated, `in` has gates and ups as with LinearOp::gate_apart.
struct ActivateOp {
  static constexpr OpTraits kTraits{.name = "activate"};
  LinearSpec spec;
  bool gated = false;
  Input<OperandRows::kTokens> in;
  Residual<OperandRows::kTokens> residual;
  Output<OperandRows::kTokens, OperandType::kAny> out;
};

/// low = scale * A in for each site, with the pairs of each row's adapter (attach_adapters.h).
/// Numbers of `low` are not written if a row's adapter has no pair.
struct AdapterShrinkOp {
  static constexpr OpTraits kTraits{.name = "shrink", .work = WorkKind::kAdapt};
  Extent sites;  ///< sites in Program::adapter_sites, of all products of `in`
  Input<OperandRows::kTokens, OperandType::kAny> in;
  Output<OperandRows::kTokens> low;  ///< Program::adapter_rank columns for each site
};

/// out = residual + scale * B low, which the next product adds to its sums. If a row's adapter has
/// no pair, out = residual. An absent residual is -0.
struct AdapterExpandOp {
  static constexpr OpTraits kTraits{.name = "expand", .work = WorkKind::kAdapt};
  Extent runs;  ///< all outputs of the product, in Program::adapter_runs
  float scale = 1;
  Input<OperandRows::kTokens> low;
  Residual<OperandRows::kTokens> residual;
  Output<OperandRows::kTokens> out;
};

/// values = the sum of this value over the ranks that share the layers, equal on each.
struct AllReduceOp {
  static constexpr OpTraits kTraits{.name = "all_reduce", .work = WorkKind::kExchange};
  InPlace<> values;
};

/// Gathers the columns of all ranks that share the layers, in their order, on the first of them.
struct GatherOp {
  static constexpr OpTraits kTraits{.name = "gather", .work = WorkKind::kExchange};
  Input<OperandRows::kOutputs> in;            ///< this rank's columns
  OptionalOutput<OperandRows::kOutputs> out;  ///< all columns; only on the first rank
  std::vector<Extent> columns;                ///< columns of `out`, by rank
};

/// ReceiveOp gets the stream from the previous stage; SendOp passes it to the next stage.
struct ReceiveOp {
  static constexpr OpTraits kTraits{.name = "receive", .work = WorkKind::kExchange};
  Output<OperandRows::kTokens> out;
};
struct SendOp {
  static constexpr OpTraits kTraits{.name = "send", .work = WorkKind::kExchange};
  Input<OperandRows::kTokens> in;
};

using Op = std::variant<EmbedOp, NormOp, LinearOp, RotaryOp, AttentionOp, RouteOp, ExpertLinearOp,
                        CombineOp, ScaleRowsOp, ActivateOp, AdapterShrinkOp, AdapterExpandOp,
                        AllReduceOp, GatherOp, ReceiveOp, SendOp>;

}  // namespace weft
