#include "weft/gpu/cuda/layout.h"

#include <algorithm>

#include "weft/core/dtype.h"
#include "weft/core/kv_dtype.h"
#include "weft/gpu/cuda/buffer_types.h"
#include "weft/gpu/cuda/cuda_adapter.h"
#include "weft/kernels/encoding/code_boxes.h"
#include "weft/kernels/linear/linear_ways_cuda.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/program/buffer_planner.h"
#include "weft/model/program/operands.h"
#include "weft/model/program/passes/attach_adapters.h"

namespace weft::cuda {
namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

std::size_t bytes(DType dtype, std::int64_t elements) {
  return size(bytes_of(dtype, elements).value());
}

/// Computes the layout of one model.
class Layouter {
 public:
  Layouter(const Program& program, const Program* adapted, const DeviceOptions& options,
           const CudaStepShape& shape, Arena& arena, Arena& kv_arena)
      : program_(program),
        adapted_(adapted),
        options_(options),
        shape_(shape),
        arena_(arena),
        kv_arena_(kv_arena) {}

  Layout run() {
    weights();
    layout_.self_kv = kv(program_.self_kv, options_.pages, kv_arena_);
    layout_.cross_kv = kv(program_.cross_kv, options_.cross_pages, kv_arena_);
    layout_.encoder_kv = kv(program_.encoder_kv, options_.encoder_pages, arena_);
    layout_.page_blocks = arena_.take<PageBlocks>(2 * program_.self_kv.size());
    buffers();
    adapters();
    workspaces();
    routing();
    sampling();
    return std::move(layout_);
  }

 private:
  void weights() {
    layout_.weights_begin = arena_.take(0);
    const std::size_t before = arena_.used();
    const std::vector<ProductKind> products = products_of_matrices();
    for (std::size_t i = 0; i < program_.matrices.size(); ++i) {
      const bool codes = shape_.multiplies_codes && has_way_of_codes(products[i]);
      layout_.matrices.push_back(take_matrix(program_.matrices[i], arena_, codes));
    }
    for (const VectorPlan& plan : program_.vectors) {
      layout_.vectors.push_back(arena_.take<float>(size(plan.size)));
    }
    tables_and_lists(program_);
    if (adapted_ != nullptr) tables_and_lists(*adapted_);
    for (const RotaryFrequencies& frequencies : program_.rotary) {
      const std::int64_t sets = frequencies.long_frequency.empty() ? 1 : 2;
      const auto numbers = static_cast<std::int64_t>(frequencies.frequency.size());
      const std::size_t count = size(sets * options_.max_context * numbers);
      layout_.cosines.push_back(arena_.take<float>(count));
      layout_.sines.push_back(arena_.take<float>(count));
    }
    layout_.weight_bytes = arena_.used() - before;
  }

  /// Returns the kind of products of each matrix, by MatrixId.
  [[nodiscard]] std::vector<ProductKind> products_of_matrices() const {
    std::vector<ProductKind> products(program_.matrices.size(), ProductKind::kMatrix);
    for (const OpList* list : {&program_.encode, &program_.decode}) {
      for (const Op& op : list->ops) {
        const auto* experts = std::get_if<ExpertLinearOp>(&op);
        if (experts == nullptr) continue;
        for (const MatrixId id : experts->weights)
          products[static_cast<std::size_t>(id)] = ProductKind::kExperts;
      }
    }
    return products;
  }

  void tables_and_lists(const Program& program) {
    const auto visit = [this](const auto& op) {
      for_each_table(op, [&](const TableRows& one) { table(*one.tensor, one.rows); });
      for_each_list(op, [&](const auto& one) { list(one); });
    };
    for (const OpList* list : {&program.encode, &program.decode}) {
      for (const Op& op : list->ops) std::visit(visit, op);
    }
  }

  void table(const CheckpointTensor& tensor, const Extent& rows) {
    if (layout_.tables.contains(&tensor)) return;
    const std::int64_t numbers = rows.count * tensor.shape.back();
    layout_.tables[&tensor] = {arena_.take(bytes(device_type(tensor.dtype), numbers)), rows};
  }

  void list(const std::vector<MatrixId>& matrices) {
    layout_.matrix_lists[&matrices] = arena_.take<DeviceMatrix>(matrices.size());
  }
  void list(const std::vector<VectorId>& vectors) {
    layout_.vector_lists[&vectors] = arena_.take<const float*>(vectors.size());
  }

  std::vector<DeviceKvLayer> kv(const std::vector<KvLayerPlan>& plans, std::int32_t pages,
                                Arena& arena) const {
    std::vector<DeviceKvLayer> layers;
    for (const KvLayerPlan& plan : plans) {
      const std::int64_t rows = std::int64_t{pages} * plan.kv_heads * options_.page_tokens;
      DeviceKvLayer layer;
      layer.dtype = options_.kv_dtype;
      layer.keys = arena.take(size(rows * kv_row_bytes(layer.dtype, plan.head_size)));
      layer.values = arena.take(size(rows * kv_row_bytes(layer.dtype, plan.head_size)));
      layer.page_tokens = options_.page_tokens;
      layer.kv_heads = plan.kv_heads;
      layer.head_size = plan.head_size;
      layers.push_back(layer);
    }
    return layers;
  }

  void buffers() {
    // Both programs have their buffers in the same memory, in the places of the adapted program.
    std::vector<BufferPlan> plans = program_.buffers;
    OpList encode = program_.encode;
    OpList decode = program_.decode;
    if (adapted_ == nullptr) {
      // Placed again: a device pads its rows to longer strides than the host.
      plan_buffers(encode, plans, kRowElements);
      plan_buffers(decode, plans, kRowElements);
    } else {
      plans = adapted_->buffers;
      encode = adapted_->encode;
      decode = adapted_->decode;
    }
    const std::int64_t per_token = std::max(encode.floats_per_token, decode.floats_per_token);
    auto* tokens = arena_.take<float>(size(per_token * shape_.tokens));
    auto* outputs = arena_.take<float>(size(decode.floats_per_output * shape_.outputs));
    layout_.buffers = rows_of(program_, plans, tokens, outputs);
    if (adapted_ != nullptr) layout_.adapters.buffers = rows_of(*adapted_, plans, tokens, outputs);
  }

  /// Returns a program's buffers in the places of `plans`.
  [[nodiscard]] std::vector<DeviceRows> rows_of(const Program& program,
                                                const std::vector<BufferPlan>& plans, float* tokens,
                                                float* outputs) const {
    const std::vector<DType> types = buffer_types(program, shape_.multiplies_codes);
    std::vector<DeviceRows> buffers;
    for (std::size_t id = 0; id < program.buffers.size(); ++id) {
      const BufferPlan& plan = plans[id];
      const bool output = plan.rows == RowKind::kOutputs;
      const std::int64_t most = output ? shape_.outputs : shape_.tokens;
      float* base = output ? outputs : tokens;
      DeviceRows rows;
      rows.data = base == nullptr ? nullptr : base + plan.offset * most;
      rows.dtype = types[id];
      rows.width = plan.width;
      rows.stride = rounded_row(plan.width);
      rows.capacity = most * plan.rows_per_token;
      buffers.push_back(rows);
    }
    return buffers;
  }

  void adapters() {
    if (adapted_ == nullptr) return;
    const std::int64_t bytes = adapter_place_bytes(*adapted_);
    layout_.adapters.places = {arena_.take(size(bytes * options_.adapter_places)), bytes};
    std::int64_t width = 0;
    for (const OpList* list : {&adapted_->encode, &adapted_->decode}) {
      for (const Op& op : list->ops) {
        const auto* shrink = std::get_if<AdapterShrinkOp>(&op);
        if (shrink == nullptr) continue;
        width = std::max(width, adapted_->buffers[static_cast<std::size_t>(shrink->low)].width);
      }
    }
    const std::int64_t inside =
        std::min<std::int64_t>(shape_.tokens, kMaxAdaptedTokens) * kMaxProductAdapterSlices * width;
    layout_.adapters.sums =
        arena_.take<float>(size(std::max(adapter_sums(shape_.tokens, width), inside)));
    layout_.adapters.meeting = arena_.take<unsigned>(1);
  }

  void workspaces() {
    std::int64_t inputs = 0;
    for (const DeviceMatrix& matrix : layout_.matrices) inputs = std::max(inputs, matrix.stride);
    const std::int64_t rows = shape_.tokens * std::max<std::int64_t>(program_.max_chosen, 1);
    layout_.converted = arena_.take(size(rows * inputs) * sizeof(float));
    std::int64_t decoded = 0;
    for (const DeviceMatrix& matrix : layout_.matrices) {
      if (!matrix.encoded()) continue;
      const DeviceMatrix piece = decoded_piece(matrix);
      decoded = std::max(decoded, piece.rows() * piece.stride);
    }
    layout_.decoded = arena_.take(bytes(DType::kBF16, decoded));
    gathered();
    layout_.linear_workspace =
        arena_.take(cuda_linear_workspace_bytes(shape_.attention.processors, shape_.tokens));
    layout_.squares = arena_.take<float>(
        size(std::min<std::int64_t>(shape_.tokens, kMaxFlatTokens) * (inputs / kSquaredOutputs)));
    layout_.attention_workspace = arena_.take(cuda_attention_workspace_bytes(
        shape_.items, shape_.attention.heads, shape_.attention.head_size));
    layout_.recomputed = arena_.take<std::uint32_t>(1);
  }

  void gathered() {
    for (const Op& op : program_.decode.ops) {
      const auto* gather = std::get_if<GatherOp>(&op);
      if (gather == nullptr) continue;
      told(*gather);
      if (gather->out == kAbsent) continue;
      for (const Extent& columns : gather->columns) {
        const bool own = layout_.gathered.empty();  // the first rank's own columns
        layout_.gathered.push_back(
            own ? DeviceRows{} : take_rows(DType::kF32, columns.count, shape_.outputs, arena_));
      }
    }
  }

  void told(const GatherOp& op) {
    const auto ranks = static_cast<std::int64_t>(op.columns.size());
    if (std::ranges::max(op.columns, {}, &Extent::count).count <= kToldFloats) return;
    if (ranks > kMaxToldRanks) return;
    ToldLayout& told = layout_.told;
    const std::int64_t here = op.out == kAbsent ? 1 : ranks;
    told.parts = arena_.take<ToldPart>(size(here * shape_.outputs));
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      told.columns.push_back({rank * kToldFloats, kToldFloats});
      if (rank >= here) continue;
      auto* rows = told.parts == nullptr ? nullptr : told.parts + rank * shape_.outputs;
      told.rows.push_back({rows, DType::kF32, kToldFloats, kToldFloats, shape_.outputs});
    }
  }

  void routing() {
    const std::size_t choices = size(shape_.tokens * program_.max_chosen);
    if (choices == 0) return;
    DeviceRouting& routing = layout_.routing;
    routing.expert_of = arena_.take<std::int32_t>(choices);
    routing.weight_of = arena_.take<float>(choices);
    routing.starts = arena_.take<std::int32_t>(size(program_.max_experts) + 1);
    routing.order = arena_.take<std::int32_t>(choices);
    routing.token_of = arena_.take<std::int32_t>(choices);
    routing.place_of = arena_.take<std::int32_t>(choices);
  }

  void sampling() {
    const StepArea counted = StepArea::cut(shape_, options_.max_context, nullptr);
    std::byte* memory = arena_.take(counted.bytes);
    layout_.step = StepArea::cut(shape_, options_.max_context, memory);
    const auto slots = size(shape_.slots);
    const bool chooses = program_.generates() && program_.gives_results;
    const std::size_t logits = slots * size(chooses ? program_.vocabulary : 0);
    layout_.page_tables = arena_.take<std::int32_t>(size(shape_.table_entries()));
    layout_.last_tokens = arena_.take<TokenId>(slots);
    layout_.settings = arena_.take<SampleSettings>(slots);
    layout_.lists = arena_.take<SampleLists>(slots);
    layout_.token_counts = arena_.take<std::uint32_t>(logits);
    const std::int64_t edited = shape_.choices * (chooses ? program_.vocabulary : 0);
    layout_.edited_logits = arena_.take<float>(size(edited));
    const std::int64_t words = chooses ? TokenMasks::words(program_.vocabulary) : 0;
    layout_.masks = arena_.take<std::uint32_t>(slots * size(words));
  }

  const Program& program_;
  const Program* const adapted_;
  const DeviceOptions& options_;
  const CudaStepShape& shape_;
  Arena& arena_;
  Arena& kv_arena_;
  Layout layout_;
};

}  // namespace

const std::vector<DeviceKvLayer>& Layout::kv(KvGroup group) const {
  if (group == KvGroup::kCross) return cross_kv;
  return group == KvGroup::kEncoder ? encoder_kv : self_kv;
}

std::shared_ptr<const Program> adapted_program(const Program& program,
                                               const DeviceOptions& options) {
  if (options.adapter_places == 0) return nullptr;
  return std::make_shared<const Program>(
      attach_adapters(program, std::max(options.adapter_rank, 1), kRowElements));
}

Layout lay_out(const Program& program, const Program* adapted, const DeviceOptions& options,
               const CudaStepShape& shape, Arena& arena, Arena& kv_arena) {
  return Layouter(program, adapted, options, shape, arena, kv_arena).run();
}

std::int64_t outputs_of_run(const DeviceMatrix& matrix, int run) noexcept {
  const std::int64_t all = matrix.gated ? 2 * matrix.outputs : matrix.outputs;
  return (run + 1 < matrix.run_count ? matrix.runs[run + 1].first : all) - matrix.runs[run].first;
}

std::int64_t bytes_of_run(const DeviceMatrix& matrix, int run) noexcept {
  const EncodedRun& of = matrix.runs[run];
  const std::int64_t rows = outputs_of_run(matrix, run) / (of.boxed ? CodeBox::kRows : 1);
  return rows * (matrix.inputs / of.block_elements) * of.block_bytes;
}

DeviceMatrix take_matrix(const MatrixPlan& plan, Arena& arena, bool codes) {
  DeviceMatrix matrix = matrix_of(plan, codes);
  for (int i = 0; i < matrix.run_count; ++i) {
    EncodedRun& run = matrix.runs[i];
    run.data = arena.take(size(bytes_of_run(matrix, i)));
  }
  if (matrix.keeps_blocks()) return matrix;
  const std::int64_t numbers = matrix.rows() * matrix.stride;
  if (matrix.dtype == DType::kQ8_0) {
    matrix.data = arena.take(size(numbers));
    matrix.scales = arena.take(size(matrix.rows() * (plan.inputs / 32) * 2));
  } else {
    matrix.data = arena.take(bytes(matrix.dtype, numbers));
  }
  return matrix;
}

DeviceRows take_rows(DType dtype, std::int64_t width, std::int64_t rows, Arena& arena) {
  const std::int64_t stride = rounded_row(width);
  return {arena.take(bytes(dtype, rows * stride)), dtype, width, stride, rows};
}

std::int64_t page_bytes(const Program& program, const DeviceOptions& options) {
  std::int64_t bytes = 0;
  for (const KvLayerPlan& layer : program.self_kv) {
    bytes += std::int64_t{2} * layer.kv_heads * options.page_tokens *
             kv_row_bytes(options.kv_dtype, layer.head_size);
  }
  return bytes;
}

}  // namespace weft::cuda
