#include "weft/gpu/cuda/step/step_area.h"

#include <algorithm>

namespace weft::cuda {
namespace {

std::int32_t pages_for(std::int64_t tokens, std::int32_t page_tokens) {
  return static_cast<std::int32_t>((tokens + page_tokens - 1) / page_tokens);
}

// All layers share one plan, so it is made for the layer with the most heads.
AttentionShape attention_shape(const Program& program, const DeviceOptions& options,
                               const Properties& properties) {
  AttentionShape shape;
  shape.processors = properties.processors;
  shape.page_tokens = options.page_tokens;
  for (const OpList* list : {&program.encode, &program.decode}) {
    for (const Op& op : list->ops) {
      const auto* attention = std::get_if<AttentionOp>(&op);
      if (attention == nullptr) continue;
      const auto& out = program.buffers[static_cast<std::size_t>(attention->out)];
      shape.heads = std::max(shape.heads, attention->heads);
      shape.head_size =
          std::max(shape.head_size, static_cast<std::int32_t>(out.width / attention->heads));
    }
  }
  for (const auto* layers : {&program.self_kv, &program.cross_kv, &program.encoder_kv}) {
    for (const KvLayerPlan& layer : *layers) {
      shape.kv_heads = std::max(shape.kv_heads, layer.kv_heads);
    }
  }
  return shape;
}

}  // namespace

CudaStepShape step_shape_of(const Program& program, const DeviceOptions& options,
                            const Properties& properties) {
  CudaStepShape shape;
  shape.tokens = options.max_tokens;
  shape.slots = options.max_sequences;
  shape.outputs = std::max(options.max_outputs, options.max_sequences);
  shape.choices = options.max_sequences + options.max_guesses;
  shape.pages = options.pages;
  shape.adapter_places = options.adapter_places;
  shape.pages_per_slot = pages_for(options.max_context, options.page_tokens);
  const std::int32_t step_pages = pages_for(options.max_tokens, options.page_tokens);
  if (options.cross_pages > 0) shape.cross_pages_per_slot = step_pages;
  if (options.encoder_pages > 0) shape.encoder_pages_per_slot = step_pages;
  shape.attention = attention_shape(program, options, properties);
  shape.items = max_attention_items(shape.slots, shape.tokens, shape.attention);
  shape.attention.max_items = shape.items;
  shape.multiplies_codes = properties.multiplies_codes;
  return shape;
}

StepArea StepArea::cut(const CudaStepShape& shape, std::int64_t context, std::byte* memory) {
  Arena arena(memory);
  StepArea area;
  const auto tokens = static_cast<std::size_t>(shape.tokens);
  const auto slots = static_cast<std::size_t>(shape.slots);
  const auto items = static_cast<std::size_t>(shape.items);
  area.head = arena.take<StepHead>(1);
  area.wanted = arena.take<TokenId>(tokens);
  area.slot_of = arena.take<std::int32_t>(tokens);
  area.is_output = arena.take<std::uint8_t>(tokens);
  area.positions = arena.take<std::int32_t>(tokens);
  area.long_positions = arena.take<std::int32_t>(tokens);
  area.types = arena.take<std::int32_t>(tokens);
  area.sequence_of = arena.take<std::int32_t>(tokens);
  area.sequences = arena.take<DeviceSequence>(slots);
  area.output_rows = arena.take<std::int32_t>(static_cast<std::size_t>(shape.outputs));
  area.samples = arena.take<SampleItem>(static_cast<std::size_t>(shape.choices));
  area.items = arena.take<CudaAttentionItem>(items);
  if (shape.cross_pages_per_slot > 0) {
    area.cross_sequences = arena.take<DeviceSequence>(slots);
    area.cross_items = arena.take<CudaAttentionItem>(items);
  }
  if (shape.adapter_places > 0) {
    area.adapter_tasks = arena.take<CudaAdapterTask>(
        static_cast<std::size_t>(most_adapter_tasks(shape.tokens, shape.adapter_places)));
    area.adapter_rows = arena.take<std::int32_t>(tokens);
  }
  area.always = arena.used();
  area.writes = arena.take<TableWrite>(3 * slots);
  area.pages = arena.take<std::int32_t>(static_cast<std::size_t>(shape.table_entries()));
  area.copies = arena.take<PageCopy>(static_cast<std::size_t>(shape.pages));
  area.history = arena.take<TokenId>(static_cast<std::size_t>(context));
  area.ids = arena.take<TokenId>(tokens);
  area.bytes = arena.used();
  return area;
}

}  // namespace weft::cuda
