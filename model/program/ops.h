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

// The ops of a program. An op states its operands by the types of its fields, and nowhere else: a
// buffer is an Input, an Output, InPlace or a Residual; a weight is a MatrixId, a VectorId or
// TableRows; angles are a RotaryId. operands.h finds the fields for every visitor of operands.

namespace weft {

struct CheckpointTensor;

/// Which KV cache an op uses. Each has its own pages.
enum class KvGroup : std::uint8_t {
  kSelf,    ///< of the decoder's own tokens
  kCross,   ///< of the encoder's output, read by the decoder
  kEncoder  ///< of the encoder's tokens while it runs; one layer, used again by each
};

/// The parts of an op's time (op_work.h).
enum class WorkKind : std::uint8_t {
  kPass,      ///< each number of its rows passes by once
  kLookUp,    ///< kPass, and of its tables a row is read for each of its rows
  kProduct,   ///< kPass, and the rows are multiplied with its matrices
  kAttend,    ///< kPass, and the rows are multiplied with the keys and values that they see
  kRoute,     ///< kPass, and it chooses the experts of the products behind it
  kAdapt,     ///< kPass, and the rows are multiplied with the pairs of their adapters
  kExchange,  ///< it waits for other ranks
};

/// The properties that all ops of one type share, besides their operands.
struct OpTraits {
  std::string_view name;  ///< in a program's text
  WorkKind work = WorkKind::kPass;
  std::string_view step_input = {};  ///< what it reads of the step itself, in a program's text
};

/// Rows of a checkpoint's table, of which an op reads one for each token.
struct TableRows {
  const CheckpointTensor* tensor = nullptr;  ///< null where the op has no table
  Extent rows;                               ///< the rows held here; tokens of other rows get zeros
  friend bool operator==(const TableRows&, const TableRows&) = default;
};

struct EmbedOp {
  static constexpr OpTraits kTraits{
      .name = "embed", .work = WorkKind::kLookUp, .step_input = "ids"};
  TableRows table;
  std::int64_t first_column = 0;  ///< of a table that is wider than `out`
  EmbeddingSpec spec;
  VectorId positions;
  VectorId constant;               ///< [constant_rows, H], of each token the row of its type
  std::int64_t constant_rows = 1;  ///< 1: the same for all
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

/// The rows of `out` are those of the op: tokens in their order, or gathered outputs.
struct LinearOp {
  static constexpr OpTraits kTraits{.name = "linear", .work = WorkKind::kProduct};
  LinearSpec spec;
  MatrixId weight;
  VectorId bias;
  Input<OperandRows::kGathered, OperandType::kOfWeightOrCodes> in;
  Residual<> residual;
  Output<OperandRows::kOfOp, OperandType::kAny> out;
  /// Of a gated weight: `out` has the gates and behind them the ups, [rows, 2N], each with its bias
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
  RotaryId table;  ///< absent where spec.rotary_size is 0
  KvGroup group = KvGroup::kSelf;
  std::int32_t layer = 0;  ///< of the group
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

/// The routing of a step stays with the device; the expert ops after it read it.
struct RouteOp {
  static constexpr OpTraits kTraits{.name = "route", .work = WorkKind::kRoute};
  Input<OperandRows::kTokens> scores;
  std::int32_t experts = 0;
  RouteSpec spec;
  VectorId selection_bias;
  VectorId weight_scales;
};

/// A linear op for every expert, over the choices of that expert. Rows of choices of other ranks'
/// experts are not written.
struct ExpertLinearOp {
  static constexpr OpTraits kTraits{.name = "experts", .work = WorkKind::kProduct};
  std::int32_t first_expert = 0;  ///< of the router's; those behind it are by weights.size()
  std::vector<MatrixId> weights;  ///< by expert
  std::vector<VectorId> biases;   ///< by expert, each kAbsent where there is none
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
  ExpertRun experts;  ///< whose choices are added up; `in` has no numbers of others
};

/// out = residual + scales * in; `scales` has one number for a row, or one for each run of its
/// width's share.
struct ScaleRowsOp {
  static constexpr OpTraits kTraits{.name = "scale"};
  ReplaceableInput<OperandRows::kTokens> in;
  Input<OperandRows::kTokens> scales;
  Residual<OperandRows::kTokens> residual;
  Output<OperandRows::kTokens> out;
};

/// What follows a product's sums (LinearSpec), in an adapted program: there adapters change the
/// sums before it. If gated, `in` has gates and ups as LinearOp::gate_apart leaves them.
struct ActivateOp {
  static constexpr OpTraits kTraits{.name = "activate"};
  LinearSpec spec;
  bool gated = false;
  Input<OperandRows::kTokens> in;
  Residual<OperandRows::kTokens> residual;
  Output<OperandRows::kTokens, OperandType::kAny> out;
};

/// low = scale * A in for each site, by the pairs of each row's adapter (attach_adapters.h).
/// Numbers of `low` are not written where a row's adapter has no pair.
struct AdapterShrinkOp {
  static constexpr OpTraits kTraits{.name = "shrink", .work = WorkKind::kAdapt};
  Extent sites;  ///< in Program::adapter_sites: those of all products of `in`
  Input<OperandRows::kTokens, OperandType::kAny> in;
  Output<OperandRows::kTokens> low;  ///< for each site Program::adapter_rank columns
};

/// out = residual + scale * B low, which the product behind it adds to its sums; out = residual
/// where a row's adapter has no pair. A residual that is absent is -0.
struct AdapterExpandOp {
  static constexpr OpTraits kTraits{.name = "expand", .work = WorkKind::kAdapt};
  Extent runs;  ///< in Program::adapter_runs: all outputs of the product
  float scale = 1;
  Input<OperandRows::kTokens> low;
  Residual<OperandRows::kTokens> residual;
  Output<OperandRows::kTokens> out;
};

/// values = the sum of this value over the ranks that share the layers, the same on each.
struct AllReduceOp {
  static constexpr OpTraits kTraits{.name = "all_reduce", .work = WorkKind::kExchange};
  InPlace<> values;
};

/// The first of the ranks that share the layers gets the columns of all ranks, in their order.
struct GatherOp {
  static constexpr OpTraits kTraits{.name = "gather", .work = WorkKind::kExchange};
  Input<OperandRows::kOutputs> in;            ///< this rank's columns
  OptionalOutput<OperandRows::kOutputs> out;  ///< all columns; the first rank's alone
  std::vector<Extent> columns;                ///< of `out`, by rank
};

/// The stream comes from the stage before; it goes to the stage behind.
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
