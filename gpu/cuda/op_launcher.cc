#include "weft/gpu/cuda/op_launcher.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "weft/core/error/internal_error.h"
#include "weft/gpu/cuda/buffer_types.h"
#include "weft/gpu/cuda/op_groups.h"
#include "weft/gpu/cuda/runtime/failure.h"
#include "weft/kernels/adapter/adapter_place_cuda.h"
#include "weft/kernels/attention/attention_ways_cuda.h"
#include "weft/kernels/linear/linear_ways_cuda.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/operands.h"

namespace weft::cuda {
namespace {

/// Fills an op's parameters from its plan and the step, and launches it.
class Launcher {
 public:
  Launcher(Runtime& runtime, const Program& program, const Layout& layout,
           const CudaStepShape& shape, const Tuning& tuning, const StepView& step, Stream stream)
      : runtime_(runtime),
        program_(program),
        layout_(layout),
        shape_(shape),
        tuning_(tuning),
        step_(step),
        stream_(stream) {}

  void operator()(const EmbedOp& op) const {
    CudaEmbeddingParams params;
    params.rows = rows_of(op);
    params.ids = layout_.step.ids;
    if (const CheckpointTensor* const tensor = op.table.tensor; tensor != nullptr) {
      const DeviceTable& table = layout_.tables.at(tensor);
      params.table = table.data;
      params.first_row = table.rows.first;
      params.table_rows = table.rows.count;
      params.table_width = tensor->shape.back();
      params.first_column = op.first_column;
      params.dtype = device_type(tensor->dtype);
      params.block = block_of(params.dtype);
    }
    params.spec = op.spec;
    params.positions = vector(op.positions);
    params.position_ids = layout_.step.positions;
    params.constant = vector(op.constant);
    if (op.constant_rows > 1) params.constant_ids = layout_.step.types;
    params.out = written(op.out);
    run(params, "embedding");
  }

  void operator()(const NormOp& op) const { run(norm(op), "norm"); }

  void operator()(const LinearOp& op) const {
    if (rows_of(op) > 0) run(linear(op, {}, {}), "linear");
  }

  void operator()(const RotaryOp& op) const { run(rotary(op), "rotary"); }
  void operator()(const AttentionOp& op) const { run(attention(op), "attention"); }

  void operator()(const RouteOp& op) const {
    CudaRouteParams params;
    params.rows = rows_of(op);
    params.scores = read(op.scores);
    params.experts = op.experts;
    params.spec = op.spec;
    params.selection_bias = vector(op.selection_bias);
    params.weight_scales = vector(op.weight_scales);
    params.routing = layout_.routing;
    run(params, "route");
  }

  void operator()(const ExpertLinearOp& op) const {
    CudaExpertLinearParams params;
    CudaLinearParams& linear = params.linear;
    linear.weight = layout_.matrices[static_cast<std::size_t>(op.weights.front())];
    linear.rows = rows_of(op);
    params.gathers = gathers_rows(program_, op);
    const std::int64_t rows_in = params.gathers ? step_.rows : linear.rows;
    linear.way = LinearWay::kExperts;
    linear.in = input(op.in, input_type(linear.way, linear.weight), rows_in, nullptr);
    linear.spec = op.spec;
    linear.out = written(op.out);
    linear.workspace = layout_.linear_workspace;
    params.experts = static_cast<std::int32_t>(op.weights.size());
    params.first_expert = op.first_expert;
    params.weights = layout_.matrix_lists.at(&op.weights);
    params.biases = layout_.vector_lists.at(&op.biases);
    params.routing = layout_.routing;
    run(params, "experts");
  }

  void operator()(const CombineOp& op) const {
    CudaCombineParams params;
    params.rows = rows_of(op);
    params.in = read(op.in);
    params.chosen = op.chosen;
    params.experts = op.experts;
    params.routing = layout_.routing;
    params.residual = read(op.residual);
    params.out = written(op.out);
    run(params, "combine");
  }

  void operator()(const ScaleRowsOp& op) const {
    run(CudaScaleRowsParams{rows_of(op), read(op.in), read(op.scales), read(op.residual),
                            written(op.out)},
        "scale rows");
  }

  void operator()(const ActivateOp& op) const { activate(op, {}); }

  void operator()(const AdapterShrinkOp& op) const {
    CudaAdapterShrinkParams params;
    params.rows = rows_of(op);
    params.in = read(op.in);
    params.tasks = adapter_tasks();
    params.places = layout_.adapters.places;
    params.first_site = static_cast<std::int32_t>(op.sites.first);
    params.sites = static_cast<std::int32_t>(op.sites.count);
    params.rank = static_cast<std::int32_t>(program_.adapter_rank);
    params.slices = slices_of(params.in.width, program_.buffers[static_cast<std::size_t>(op.low)]);
    params.sums = layout_.adapters.sums;
    run(params, "first half of adapters");
    slices_ = params.slices;
  }

  void operator()(const AdapterExpandOp& op) const { expand(op, 0); }

  void operator()(const AllReduceOp& op) const {
    const std::int64_t rows = rows_of(op);
    if (rows > 0) run(CudaAllReduceParams{rows, written(op.values.after)}, "all-reduce");
  }

  void operator()(const GatherOp& op) const {
    const std::int64_t rows = rows_of(op);
    if (rows == 0) return;
    if (step_.tells) return tell(op, rows);
    const DeviceRows own = read(op.in);
    const bool is_first = op.out != kAbsent;
    run(CudaGatherParams{rows, own, op.columns, is_first ? layout_.gathered.data() : nullptr},
        "gather");
    if (!is_first) return;
    const DeviceRows whole = written(op.out);
    for (std::size_t rank = 0; rank < op.columns.size(); ++rank) {
      const Extent& place = op.columns[rank];
      run(CudaConvertParams{rows, rank == 0 ? own : layout_.gathered[rank], nullptr,
                            columns_of(whole, place.first, place.count)},
          "gather");
    }
  }

  void operator()(const ReceiveOp& op) const {
    run(CudaReceiveParams{rows_of(op), written(op.out)}, "receive");
  }
  void operator()(const SendOp& op) const { run(CudaSendParams{rows_of(op), read(op.in)}, "send"); }

  /// Launches the first op, together with the following ops that are computed with it. Returns the
  /// number of these ops.
  [[nodiscard]] std::size_t launch_first(std::span<const Op> ops) const {
    if (const auto found = products_around_norm(program_, ops); found && products_and_norm(*found))
      return found->ops();
    if (const auto product = whole_product(ops); product && adapts_inside(*product)) {
      run_product(*product, {}, {});
      return product->ops;
    }
    if (are_sum_and_norm(ops) && sum_and_norm(ops)) return 2;
    if (are_gates_apart(ops)) {
      products_apart(std::get<AdapterExpandOp>(ops[0]), std::get<LinearOp>(ops[1]),
                     std::get<ActivateOp>(ops[2]));
      return 3;
    }
    if (are_rotary_and_attention(ops)) {
      rotary_and_attention(std::get<RotaryOp>(ops[0]), std::get<AttentionOp>(ops[1]));
      return 2;
    }
    std::visit(*this, ops[0]);
    return 1;
  }

 private:
  /// Launches two products that compute the norm between them. Returns false if their ways cannot.
  [[nodiscard]] bool products_and_norm(const NormedProducts& of) const {
    if (step_.rows > kBestNormedRows) return false;
    const NormOp& norm = *of.norm;
    const std::int64_t rows = rows_of(norm);
    NormAfter after;
    after.out = written(norm.out);
    after.weight = vector(norm.weight);
    after.weight_offset = norm.spec.weight_offset;
    after.squares = layout_.squares;
    EpilogueSteps first = steps_of(of.before);
    EpilogueSteps second = steps_of(of.behind);
    first.norm_after = true;
    second.norm_before = true;
    if (rows == 0 || after.out.dtype != DType::kBF16 || !gains_by_norm(of.before.op, first) ||
        !gains_by_norm(of.behind.op, second)) {
      return false;
    }
    if (of.before.expand != nullptr && !adapts_inside(of.before)) return false;
    if (of.behind.expand != nullptr && !adapts_inside(of.behind)) return false;
    run_product(of.before, {}, after);
    run_product(of.behind, {layout_.squares, norm.spec.eps}, {});
    return true;
  }

  [[nodiscard]] static EpilogueSteps steps_of(const WholeProduct& product) {
    EpilogueSteps steps = own_steps(product.op);
    steps.adapters = product.expand != nullptr;
    return steps;
  }

  /// Whether a product of an adapted program computes the adapters' part in its own launch.
  [[nodiscard]] bool adapts_inside(const WholeProduct& product) const {
    if (product.expand == nullptr || gathers_rows(program_, product.op)) return false;
    const std::span<const AdapterRun> runs = runs_of(*product.expand);
    const auto count = static_cast<std::int32_t>(runs.size());
    const std::int64_t rows = rows_of(product.op);
    return rows > 0 && rows <= kBestAdaptedTokens && begin_evenly(runs.data(), count) &&
           computes(way_of(product.op), steps_of(product), weight_of(product.op), rows);
  }

  void run_product(const WholeProduct& product, const NormBefore& norm_before,
                   const NormAfter& norm_after) const {
    CudaLinearParams params = linear(product.op, norm_before, norm_after);
    if (product.expand != nullptr) {
      const AdapterShrinkOp& shrink = *product.shrink;
      ProductAdapters& adapters = params.adapters;
      adapters.tasks = adapter_tasks();
      adapters.places = layout_.adapters.places;
      const std::span<const AdapterRun> runs = runs_of(*product.expand);
      std::ranges::copy(runs, adapters.runs);
      adapters.run_count = static_cast<std::int32_t>(runs.size());
      adapters.first_site = static_cast<std::int32_t>(shrink.sites.first);
      adapters.sites = static_cast<std::int32_t>(shrink.sites.count);
      adapters.rank = static_cast<std::int32_t>(program_.adapter_rank);
      adapters.sums = layout_.adapters.sums;
      adapters.meeting = layout_.adapters.meeting;
      slices_ = product_adapter_slices(params.weight.inputs);
    }
    run(params, "linear");
  }

  /// Launches a sum and its norm as one. Returns false if they differ in rows or have none.
  [[nodiscard]] bool sum_and_norm(std::span<const Op> ops) const {
    const auto& sum = std::get<AllReduceOp>(ops[0]);
    const CudaNormParams params = norm(std::get<NormOp>(ops[1]));
    if (params.rows == 0 || params.rows != rows_of(sum)) return false;
    run(CudaSumNormParams{{params.rows, written(sum.values.after)}, params}, "all-reduce and norm");
    return true;
  }

  void rotary_and_attention(const RotaryOp& first, const AttentionOp& second) const {
    const CudaRotaryParams rotated = rotary(first);
    CudaAttentionParams params = attention(second);
    if (rotates_inside(rotated, params)) {
      params.rotary = rotated;
      return run(params, "rotary and attention");
    }
    run(rotated, "rotary");
    run(params, "attention");
  }

  /// Returns the parameters of a product of some rows, with the input in the type that the
  /// product's way takes.
  [[nodiscard]] CudaLinearParams linear(const LinearOp& op, const NormBefore& norm_before,
                                        const NormAfter& norm_after) const {
    CudaLinearParams params;
    params.spec = op.spec;
    params.rows = rows_of(op);
    params.weight = weight_of(op);
    if (!op.gate_apart) params.bias = vector(op.bias);
    params.residual = read(op.residual);
    params.out = written(op.out);
    params.workspace = layout_.linear_workspace;
    params.decoded = layout_.decoded;
    params.way = way_of(op);
    params.norm_before = norm_before;
    params.norm_after = norm_after;
    params.in = linear_input(op, input_type(params.way, params.weight), params.rows);
    return params;
  }

  [[nodiscard]] DeviceMatrix weight_of(const LinearOp& op) const {
    const DeviceMatrix& weight = layout_.matrices[static_cast<std::size_t>(op.weight)];
    return op.gate_apart ? gate_apart(weight) : weight;
  }
  [[nodiscard]] LinearWay way_of(const LinearOp& op) const {
    return cuda::way_of(runtime_, tuning_.linear, weight_of(op), rows_of(op), own_steps(op),
                        step_.rounds_rows);
  }
  [[nodiscard]] static EpilogueSteps own_steps(const LinearOp& op) {
    return cuda::steps_of(op.spec, op.residual != kAbsent);
  }
  [[nodiscard]] bool gains_by_norm(const LinearOp& op, const EpilogueSteps& steps) const {
    return cuda::gains_by_norm(way_of(op), steps, weight_of(op), rows_of(op));
  }

  [[nodiscard]] CudaNormParams norm(const NormOp& op) const {
    CudaNormParams params;
    params.rows = rows_of(op);
    params.spec = op.spec;
    params.in = read(op.in);
    params.weight = vector(op.weight);
    params.bias = vector(op.bias);
    params.scale = op.scale;
    params.sum_scale = op.sum_scale;
    params.residual = read(op.residual);
    params.out = written(op.out);
    return params;
  }

  [[nodiscard]] CudaRotaryParams rotary(const RotaryOp& op) const {
    CudaRotaryParams params;
    params.rows = rows_of(op);
    params.qkv = written(op.qkv.after);
    params.shape = op.shape;
    params.spec = op.spec;
    params.query_norm = head_norm(op.query_norm);
    params.key_norm = head_norm(op.key_norm);
    params.value_norm = head_norm(op.value_norm);
    params.position_ids = layout_.step.positions;
    if (op.table != kAbsent) {
      const auto table = static_cast<std::size_t>(op.table);
      params.cosines = layout_.cosines[table];
      params.sines = layout_.sines[table];
      if (!program_.rotary[table].long_frequency.empty()) {
        params.position_ids = layout_.step.long_positions;
      }
    }
    params.spans = spans(op.group);
    if (op.stores && op.shape.kv_heads > 0)
      params.kv = layout_.kv(op.group)[static_cast<std::size_t>(op.layer)];
    return params;
  }

  [[nodiscard]] CudaAttentionParams attention(const AttentionOp& op) const {
    CudaAttentionParams params;
    const bool cross = op.group == KvGroup::kCross;
    params.rows = rows_of(op);
    params.queries = read(op.queries);
    params.heads = op.heads;
    params.kv = layout_.kv(op.group)[static_cast<std::size_t>(op.layer)];
    params.spans = spans(op.group);
    params.items = cross ? layout_.step.cross_items : layout_.step.items;
    params.item_count = cross ? &layout_.step.head->cross_items : &layout_.step.head->items;
    params.max_items = shape_.items;
    params.decodes = step_.decodes;
    params.spec = op.spec;
    params.alibi_slopes = vector(op.alibi_slopes);
    params.relative_bias = vector(op.relative_bias);
    params.sinks = vector(op.sinks);
    params.out = written(op.out);
    params.unified = tuning_.unified_softmax;
    params.phi = tuning_.phi;
    params.recomputed = layout_.recomputed;
    params.workspace = layout_.attention_workspace;
    return params;
  }

  /// Returns a gated matrix as a matrix that is not gated: its outputs are gates and ups, as in
  /// memory.
  [[nodiscard]] static DeviceMatrix gate_apart(DeviceMatrix weight) {
    weight.outputs = alternates(weight) ? weight.rows() : 2 * weight.outputs;
    weight.gated = false;
    return weight;
  }

  /// Whether the gates and ups of a gated product alternate in the result (DeviceMatrix).
  [[nodiscard]] static bool alternates(const DeviceMatrix& weight) {
    return weight.gated && !weight.keeps_blocks();
  }

  /// Launches a gated product with adapters, from their second half to the activation. The
  /// activation adds the product's bias, since only there gates and ups are separate both in the
  /// product and in the adapters' part.
  void products_apart(const AdapterExpandOp& first, const LinearOp& product,
                      const ActivateOp& last) const {
    const DeviceMatrix& weight = layout_.matrices[static_cast<std::size_t>(product.weight)];
    expand(first, alternates(weight) ? weight.outputs : 0);
    (*this)(product);
    activate(last, {vector(product.bias), alternates(weight)});
  }

  /// `gates` is CudaAdapterExpandParams::gates.
  void expand(const AdapterExpandOp& op, std::int64_t gates) const {
    CudaAdapterExpandParams params;
    params.rows = rows_of(op);
    params.tasks = adapter_tasks();
    params.places = layout_.adapters.places;
    const std::span<const AdapterRun> runs = runs_of(op);
    std::ranges::copy(runs, params.runs);
    params.run_count = static_cast<std::int32_t>(runs.size());
    params.slices = slices_;
    params.sums = layout_.adapters.sums;
    params.sums_width = program_.buffers[static_cast<std::size_t>(op.low)].width;
    params.scale = op.scale;
    params.gates = gates;
    params.residual = read(op.residual);
    params.out = written(op.out);
    run(params, "second half of adapters");
  }

  [[nodiscard]] std::span<const AdapterRun> runs_of(const AdapterExpandOp& op) const {
    return std::span(program_.adapter_runs)
        .subspan(static_cast<std::size_t>(op.runs.first), static_cast<std::size_t>(op.runs.count));
  }

  /// Operands of an activation that its op does not contain.
  struct GatesApart {
    const float* bias = nullptr;
    bool alternate = false;
  };
  void activate(const ActivateOp& op, const GatesApart& apart) const {
    CudaActivateParams params;
    params.rows = rows_of(op);
    params.in = read(op.in);
    params.spec = op.spec;
    params.gated = op.gated;
    params.alternate = apart.alternate;
    params.bias = apart.bias;
    params.residual = read(op.residual);
    params.out = written(op.out);
    run(params, "activation");
  }

  [[nodiscard]] CudaAdapterTasks adapter_tasks() const {
    const StepArea& area = layout_.step;
    return {area.adapter_tasks, &area.head->adapter_tasks, area.adapter_rows,
            most_adapter_tasks(step_.rows, shape_.adapter_places)};
  }

  [[nodiscard]] std::int32_t slices_of(std::int64_t inputs, const BufferPlan& low) const {
    return adapter_slices(inputs, low.width / kAdapterTile,
                          most_adapter_tasks(step_.rows, shape_.adapter_places));
  }

  void tell(const GatherOp& op, std::int64_t rows) const {
    const ToldLayout& told = layout_.told;
    const auto rank = static_cast<std::size_t>(program_.part.rank);
    CudaTellParams params;
    params.rows = rows;
    params.logits = read(op.in);
    params.first_token = static_cast<TokenId>(op.columns[rank].first);
    params.told = told.parts;
    run(params, "telling logits");
    const DeviceRows* all = op.out == kAbsent ? nullptr : told.rows.data();
    run(CudaGatherParams{rows, told.rows.front(), told.columns, all}, "gather");
  }

  [[nodiscard]] DeviceRows linear_input(const LinearOp& op, DType type, std::int64_t rows) const {
    const bool gathers = gathers_rows(program_, op);
    return input(op.in, type, rows, gathers ? layout_.step.output_rows : nullptr);
  }

  template <class Params>
  void run(const Params& params, const char* name) const {
    check(runtime_, runtime_.run(params, stream_), name);
  }

  /// Returns the rows that a kernel reads; no rows if the operand is absent.
  template <OperandSpec kSpec>
  [[nodiscard]] DeviceRows read(const BufferOperand<kSpec>& operand) const
    requires(!kSpec.writes())
  {
    return buffer(operand);
  }

  /// Returns the rows that a kernel writes, or reads and writes; no rows if the operand is absent.
  template <OperandSpec kSpec>
  [[nodiscard]] DeviceRows written(const BufferOperand<kSpec>& operand) const
    requires(kSpec.writes())
  {
    return buffer(operand);
  }

  [[nodiscard]] DeviceRows buffer(const BufferId& id) const {
    return id == kAbsent ? DeviceRows{} : layout_.buffers[static_cast<std::size_t>(id)];
  }

  [[nodiscard]] const float* vector(VectorId id) const {
    return id == kAbsent ? nullptr : layout_.vectors[static_cast<std::size_t>(id)];
  }

  template <class AnyOp>
  [[nodiscard]] std::int64_t rows_of(const AnyOp& op) const {
    const BufferPlan& plan = program_.buffers[static_cast<std::size_t>(row_buffer(op))];
    return plan.rows == RowKind::kOutputs ? step_.outputs : step_.rows * plan.rows_per_token;
  }

  /// Returns the input of a product: the buffer itself, or its rows converted to the product's
  /// type, gathered if `rows_of` is given.
  template <OperandSpec kSpec>
  [[nodiscard]] DeviceRows input(const BufferOperand<kSpec>& operand, DType wanted,
                                 std::int64_t rows, const std::int32_t* rows_of) const {
    const DeviceRows in = read(operand);
    if (in.dtype == wanted && rows_of == nullptr) return in;
    DeviceRows converted = in;
    converted.data = layout_.converted;
    converted.dtype = wanted;
    run(CudaConvertParams{rows, in, rows_of, converted}, "convert");
    return converted;
  }

  [[nodiscard]] DeviceSpans spans(KvGroup group) const {
    const StepArea& area = layout_.step;
    return {group == KvGroup::kCross ? area.cross_sequences : area.sequences, area.sequence_of,
            layout_.page_tables};
  }

  [[nodiscard]] HeadNorm head_norm(const HeadNormPlan& plan) const {
    return {plan.spec, vector(plan.weight), vector(plan.bias)};
  }

  Runtime& runtime_;
  const Program& program_;
  const Layout& layout_;
  const CudaStepShape& shape_;
  const Tuning& tuning_;
  const StepView& step_;
  Stream stream_;
  mutable std::int32_t slices_ = 1;  // slices of the adapters' last launched first half
};

}  // namespace

LinearWay way_of(const Runtime& runtime, const CudaLinearTable& table, const DeviceMatrix& weight,
                 std::int64_t rows, const EpilogueSteps& steps, bool rounds_rows) {
  if (rounds_rows && rows > kMaxStreamedTokens &&
      runtime.can(LinearWay::kRounded, weight, rows, steps)) {
    return LinearWay::kRounded;
  }
  const LinearShape shape{weight.dtype, weight.rows(), weight.inputs, rows};
  const LinearWay usual = CudaLinearTable::default_way(weight.dtype, rows);
  const LinearWay measured = table.measured(shape).value_or(LinearWay::kCodes);
  for (const LinearWay way : {measured, LinearWay::kCodes, LinearWay::kCodesFetched, usual,
                              CudaLinearTable::instead_of(usual), LinearWay::kLibrary}) {
    if (!table.avoids(way) && runtime.can(way, weight, rows, steps)) return way;
  }
  return LinearWay::kVector;
}

void launch_ops(Runtime& runtime, const Program& program, const OpList& list, const Layout& layout,
                const CudaStepShape& shape, const Tuning& tuning, const StepView& step,
                Stream stream) {
  const Launcher launcher(runtime, program, layout, shape, tuning, step, stream);
  std::span<const Op> left(list.ops);
  while (!left.empty()) left = left.subspan(launcher.launch_first(left));
}

}  // namespace weft::cuda
