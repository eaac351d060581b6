#include "weft/gpu/host/host_device.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "weft/core/background.h"
#include "weft/core/error/internal_error.h"
#include "weft/core/kv_dtype.h"
#include "weft/core/mailbox/cache_line.h"
#include "weft/gpu/adapter_pairs.h"
#include "weft/gpu/host/gather_logits.h"
#include "weft/gpu/host/host_state.h"
#include "weft/gpu/ranks/rank_link.h"
#include "weft/kernels/attention/attention.h"
#include "weft/kernels/linear/linear.h"
#include "weft/model/program/passes/attach_adapters.h"

namespace weft {
namespace {

/// Rows of one adapter that a thread computes together: enough that a pair is seldom read twice,
/// few enough that a prompt is divided among many threads.
constexpr std::int32_t kTaskRows = 32;

std::size_t rounded_to_line(std::size_t bytes) {
  return (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
}

// Returns the most workspace of one thread that any op of the program needs.
std::size_t workspace_bytes_of(const Program& program, const DeviceOptions& options) {
  const std::int64_t chosen = std::max<std::int64_t>(program.max_chosen, 1);
  std::size_t bytes = 0;
  for (const MatrixPlan& matrix : program.matrices) {
    bytes = std::max(bytes, linear_workspace_bytes(options.max_tokens * chosen, matrix.inputs));
  }
  for (const OpList* list : {&program.encode, &program.decode}) {
    for (const Op& op : list->ops) {
      const auto* attention = std::get_if<AttentionOp>(&op);
      if (attention == nullptr) continue;
      const auto& buffer = program.buffers[static_cast<std::size_t>(attention->out)];
      const auto head_size = static_cast<std::int32_t>(buffer.width / attention->heads);
      bytes = std::max(bytes, attention_workspace_bytes(attention->heads, head_size));
    }
  }
  return rounded_to_line(bytes);
}

// Returns the bytes of one page's keys in one layer; the values take as many.
std::int64_t key_bytes(DType dtype, std::int32_t page_tokens, std::int32_t kv_heads,
                       std::int32_t head_size) {
  return std::int64_t{page_tokens} * kv_heads * kv_row_bytes(dtype, head_size);
}

// Returns the bytes of the keys and values of all layers.
std::int64_t bytes_of_pages(std::span<const KvLayerPlan> layers, const DeviceOptions& options,
                            std::int64_t pages) {
  std::int64_t bytes = 0;
  for (const KvLayerPlan& layer : layers) {
    bytes += 2 * pages *
             key_bytes(options.kv_dtype, options.page_tokens, layer.kv_heads, layer.head_size);
  }
  return bytes;
}

Result<HostMemory> float_memory(std::int64_t rows, std::int64_t floats) {
  return HostMemory::allocate(static_cast<std::size_t>(rows * floats) * sizeof(float));
}

}  // namespace

Result<HostKv> HostKv::allocate(std::span<const KvLayerPlan> layers, DType dtype,
                                std::int32_t pages, std::int32_t page_tokens) {
  HostKv kv;
  std::vector<std::size_t> sizes;
  std::size_t total = 0;
  for (const KvLayerPlan& layer : layers) {
    const std::int64_t bytes =
        pages * key_bytes(dtype, page_tokens, layer.kv_heads, layer.head_size);
    sizes.push_back(rounded_to_line(static_cast<std::size_t>(bytes)));
    total += 2 * sizes.back();
  }
  auto memory = HostMemory::allocate(total);
  if (!memory) return memory.error();
  kv.memory = std::move(*memory);
  std::byte* next = kv.memory.bytes().data();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    kv.layers.push_back({dtype, next, next + sizes[i], pages, page_tokens, layers[i].kv_heads,
                         layers[i].head_size});
    next += 2 * sizes[i];
  }
  return kv;
}

HostKv& HostState::kv(KvGroup group) {
  switch (group) {
    case KvGroup::kSelf:
      return self_kv;
    case KvGroup::kCross:
      return cross_kv;
    case KvGroup::kEncoder:
      return encoder_kv;
  }
  internal_error("no such KV group");
}

std::int64_t HostState::rows_of(const BufferPlan& plan) const {
  if (plan.rows == RowKind::kOutputs) return static_cast<std::int64_t>(step.outputs.size());
  return static_cast<std::int64_t>(step.ids.size()) * plan.rows_per_token;
}

Rows HostState::rows(BufferId id) const {
  if (id == kAbsent) return {};
  const BufferPlan& plan = planned().buffers[static_cast<std::size_t>(id)];
  const bool output = plan.rows == RowKind::kOutputs;
  const std::int64_t most = output ? options.max_outputs : options.max_tokens;
  float* start = (output ? output_memory : token_memory).floats() + plan.offset * most;
  return {start, rows_of(plan), plan.width, plan.width};
}

std::span<std::byte> HostState::workspace(Share share) const {
  return workspaces.bytes().subspan(workspace_bytes * static_cast<std::size_t>(share.thread),
                                    workspace_bytes);
}

HostDevice::HostDevice(std::unique_ptr<HostState> state) : state_(std::move(state)) {}
HostDevice::~HostDevice() = default;

namespace {

void size_step(HostStep& step, const Program& program, const DeviceOptions& options) {
  const auto tokens = static_cast<std::size_t>(options.max_tokens);
  const auto choices = tokens * static_cast<std::size_t>(program.max_chosen);
  step.positions.reserve(tokens);
  step.long_positions.reserve(tokens);
  step.types.reserve(tokens);
  step.spans.reserve(static_cast<std::size_t>(options.max_sequences));
  step.cross_spans.reserve(static_cast<std::size_t>(options.max_sequences));
  step.adapter_rows.reserve(tokens);
  step.adapter_ends.resize(static_cast<std::size_t>(options.adapter_places));
  step.adapter_tasks.reserve(tokens);
  for (auto* list : {&step.expert_of, &step.order, &step.token_of, &step.place_of}) {
    list->resize(choices);
  }
  step.weight_of.resize(choices);
  step.starts.resize(static_cast<std::size_t>(program.max_experts) + 1);
  size_told_parts(step, program, options);
}

Result<void> take_memory(HostState& state) {
  const Program& program = *state.program;
  const DeviceOptions& options = state.options;
  const auto take = [](auto& place, auto made) -> Result<void> {
    if (!made) return made.error();
    place = std::move(*made);
    return {};
  };
  const auto kv = [&](const auto& layers, std::int32_t pages) {
    return HostKv::allocate(layers, options.kv_dtype, pages, options.page_tokens);
  };
  state.workspace_bytes = workspace_bytes_of(program, options);
  const auto threads = static_cast<std::size_t>(state.team->size());
  state.products.resize(threads);
  const Program& planned = state.planned();
  const std::int64_t per_token =
      std::max(planned.encode.floats_per_token, planned.decode.floats_per_token);
  for (Result<void> taken :
       {take(state.self_kv, kv(program.self_kv, options.pages)),
        take(state.cross_kv, kv(program.cross_kv, options.cross_pages)),
        take(state.encoder_kv, kv(program.encoder_kv, options.encoder_pages)),
        take(state.token_memory, float_memory(options.max_tokens, per_token)),
        take(state.output_memory,
             float_memory(options.max_outputs, planned.decode.floats_per_output)),
        take(state.workspaces, HostMemory::allocate(state.workspace_bytes * threads))}) {
    if (!taken) return taken;
  }
  size_step(state.step, program, options);
  return {};
}

// Returns the span over the sequence's own KV. A stack that is not causal sees the tokens of the
// step.
SequenceSpan own_span(const StepSequence& sequence) {
  return {sequence.first, sequence.count, sequence.start, sequence.pages,
          sequence.start + sequence.count};
}

/// Returns the place of a sequence's adapter.
std::size_t place_of(const HostState& state, const AdapterId& id) {
  const auto found = std::ranges::find(state.adapter_places, id, &HostAdapterPlace::id);
  if (found == state.adapter_places.end()) internal_error("a row's adapter is in no place");
  return static_cast<std::size_t>(found - state.adapter_places.begin());
}

/// Makes tasks of the rows that have adapters; the rows of one adapter become contiguous.
void find_adapter_tasks(HostState& state, const Step& step) {
  HostStep& own = state.step;
  own.adapter_tasks.clear();
  std::ranges::fill(own.adapter_ends, 0);
  std::int32_t count = 0;
  for (const StepSequence& sequence : step.sequences) {
    const AdapterId& id = sequence.traits.kv.adapter;
    if (!id) continue;
    own.adapter_ends[place_of(state, id)] += sequence.count;
    count += sequence.count;
  }
  if (count == 0) return;
  own.adapter_rows.resize(static_cast<std::size_t>(count));
  // The end of each place's rows begins at their start, and moves as rows are added.
  std::exclusive_scan(own.adapter_ends.begin(), own.adapter_ends.end(), own.adapter_ends.begin(),
                      0);
  for (const StepSequence& sequence : step.sequences) {
    const AdapterId& id = sequence.traits.kv.adapter;
    if (!id) continue;
    std::int32_t& end = own.adapter_ends[place_of(state, id)];
    for (std::int32_t i = 0; i < sequence.count; ++i) {
      own.adapter_rows[static_cast<std::size_t>(end++)] = sequence.first + i;
    }
  }
  std::int32_t first = 0;
  for (std::size_t place = 0; place < own.adapter_ends.size(); ++place) {
    for (; first < own.adapter_ends[place]; first += kTaskRows) {
      const std::int32_t rows = std::min(kTaskRows, own.adapter_ends[place] - first);
      own.adapter_tasks.push_back(
          {std::span(own.adapter_rows)
               .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)),
           state.adapter_places[place].adapter->pairs().data()});
    }
    first = own.adapter_ends[place];
  }
}

void prepare(HostState& state, const Step& step, bool encoding) {
  HostStep& own = state.step;
  const DeviceOptions& options = state.options;
  if (std::cmp_greater(step.ids.size(), options.max_tokens) ||
      std::cmp_greater(step.outputs.size(), options.max_outputs) ||
      std::cmp_greater(step.sequences.size(), options.max_sequences)) {
    internal_error("a step is larger than the device was made for");
  }
  own.ids = step.ids;
  own.outputs = step.outputs;
  own.needs = step.needs;
  own.positions.resize(step.ids.size());
  own.long_positions.resize(step.ids.size());
  own.types.resize(step.ids.size());
  own.spans.clear();
  own.cross_spans.clear();
  const auto longest = static_cast<std::int32_t>(options.max_context);
  for (const StepSequence& sequence : step.sequences) {
    if (sequence.start + std::int64_t{sequence.count} > options.max_context) {
      internal_error("a sequence is longer than the device was made for");
    }
    own.spans.push_back(own_span(sequence));
    // The encoder writes its cross keys at the positions of its own tokens.
    own.cross_spans.push_back({sequence.first, sequence.count, encoding ? sequence.start : 0,
                               sequence.cross_pages, sequence.cross_context});
    for (std::int32_t i = 0; i < sequence.count; ++i) {
      const auto row = static_cast<std::size_t>(sequence.first) + static_cast<std::size_t>(i);
      own.positions[row] = sequence.start + i;
      own.long_positions[row] = angle_row(sequence.traits, sequence.start + i, longest);
      own.types[row] = token_type(sequence.traits, sequence.start + i);
    }
  }
  find_adapter_tasks(state, step);
}

StepSize size_of(const HostStep& step) {
  StepSize size;
  size.tokens = static_cast<std::int64_t>(step.ids.size());
  size.outputs = static_cast<std::int64_t>(step.outputs.size());
  for (const SequenceSpan& span : step.spans) {
    size.keys += std::int64_t{span.count} * (span.start + span.count);
  }
  for (const SequenceSpan& span : step.cross_spans) {
    size.cross_keys += std::int64_t{span.count} * span.context;
  }
  return size;
}

/// Returns the costs of a list's ops, by which a step is cut into pieces.
StepCosts& costs_of(HostState& state, bool adapted, bool encoding) {
  if (adapted) return encoding ? state.adapted_encode_costs : state.adapted_decode_costs;
  return encoding ? state.encode_costs : state.decode_costs;
}

void run_step(HostState& state, const Step& step, bool encoding) {
  prepare(state, step, encoding);
  const bool adapted = !state.step.adapter_tasks.empty();
  const Program& program = adapted ? *state.adapted : *state.program;
  const OpList& list = encoding ? program.encode : program.decode;
  ++state.runs;
  state.result = list.result;
  if (step.ids.empty()) return;
  StepCosts& costs = costs_of(state, adapted, encoding);
  const auto work = [&](std::int32_t op, Share share) {
    state.run(list.ops[static_cast<std::size_t>(op)], share);
  };
  if (state.options.always_all_threads) {
    const int all = state.team->size();
    return state.team->run(costs.most_pieces(all), work, all);
  }
  const StepSize size = size_of(state.step);
  const int members = state.members->next(costs.nanoseconds(size));
  const auto began = std::chrono::steady_clock::now();
  state.team->run(costs.pieces(size, members), work, members);
  state.members->took(std::chrono::steady_clock::now() - began);
}

std::unique_ptr<HostState> begin_state(std::shared_ptr<const Checkpoint> checkpoint,
                                       std::shared_ptr<const Program> program,
                                       const DeviceOptions& options) {
  auto state = std::make_unique<HostState>();
  state->checkpoint = std::move(checkpoint);
  state->program = std::move(program);
  state->options = options;
  const std::int64_t known = state->program->context;
  state->options.max_context =
      options.max_context == 0 ? known : std::min(options.max_context, known);
  state->team = std::make_unique<ThreadTeam>(ThreadTeam::Options{options.threads, false});
  state->members.emplace(state->team->size());
  state->encode_costs = StepCosts(*state->program, state->program->encode);
  state->decode_costs = StepCosts(*state->program, state->program->decode);
  if (options.adapter_places > 0) {
    state->adapted = std::make_shared<const Program>(
        attach_adapters(*state->program, std::max(options.adapter_rank, 1)));
    state->adapted_encode_costs = StepCosts(*state->adapted, state->adapted->encode);
    state->adapted_decode_costs = StepCosts(*state->adapted, state->adapted->decode);
    state->adapter_places.resize(static_cast<std::size_t>(options.adapter_places));
  }
  for (const RotaryFrequencies& frequencies : state->program->rotary) {
    state->rotary.push_back(make_rotary_table(frequencies, state->options.max_context));
  }
  return state;
}

}  // namespace

Result<std::unique_ptr<HostDevice>> HostDevice::load(std::shared_ptr<const Checkpoint> checkpoint,
                                                     std::shared_ptr<const Program> program,
                                                     const DeviceOptions& options,
                                                     const LoadProgress& progress,
                                                     std::shared_ptr<RankLink> link,
                                                     LoadBeside beside) {
  auto state = begin_state(std::move(checkpoint), std::move(program), options);
  state->link = std::move(link);
  auto weights = run_in_background([&] {
    ThreadTeam readers({options.threads, false});
    return HostWeights::load(*state->program, readers, progress, beside);
  });
  if (!weights) return weights.error();
  state->weights = std::make_shared<const HostWeights>(std::move(*weights));
  auto taken = take_memory(*state);
  if (!taken) return taken.error();
  return std::unique_ptr<HostDevice>(new HostDevice(std::move(state)));
}

Result<std::unique_ptr<HostDevice>> HostDevice::with_weights(
    std::shared_ptr<const Checkpoint> checkpoint, std::shared_ptr<const Program> program,
    std::shared_ptr<const HostWeights> weights, const DeviceOptions& options) {
  auto state = begin_state(std::move(checkpoint), std::move(program), options);
  state->weights = std::move(weights);
  auto taken = take_memory(*state);
  if (!taken) return taken.error();
  return std::unique_ptr<HostDevice>(new HostDevice(std::move(state)));
}

Result<std::unique_ptr<HostDevice>> HostDevice::share_weights(const DeviceOptions& options) const {
  return with_weights(state_->checkpoint, state_->program, state_->weights, options);
}

const std::shared_ptr<const HostWeights>& HostDevice::weights() const { return state_->weights; }

std::int64_t HostDevice::page_bytes(const Program& program, const DeviceOptions& options) {
  return bytes_of_pages(program.self_kv, options, 1);
}

std::int64_t HostDevice::memory_bytes(const Program& program, const DeviceOptions& options) {
  const std::int64_t per_token =
      std::max(program.encode.floats_per_token, program.decode.floats_per_token);
  const std::int64_t floats =
      options.max_tokens * per_token + options.max_outputs * program.decode.floats_per_output;
  return bytes_of_pages(program.self_kv, options, options.pages) +
         bytes_of_pages(program.cross_kv, options, options.cross_pages) +
         bytes_of_pages(program.encoder_kv, options, options.encoder_pages) +
         (floats + told_numbers(program, options)) * static_cast<std::int64_t>(sizeof(float));
}

void HostDevice::copy_page(std::int32_t from, std::int32_t to) {
  for (const KvLayer& layer : state_->self_kv.layers) {
    const auto bytes = static_cast<std::size_t>(
        key_bytes(layer.dtype, layer.page_tokens, layer.kv_heads, layer.head_size));
    const auto source = bytes * static_cast<std::size_t>(from);
    const auto target = bytes * static_cast<std::size_t>(to);
    std::memcpy(layer.keys + target, layer.keys + source, bytes);
    std::memcpy(layer.values + target, layer.values + source, bytes);
  }
}

std::vector<PageBlock> HostDevice::page_blocks() const {
  std::vector<PageBlock> blocks;
  for (const KvLayer& layer : state_->self_kv.layers) {
    const auto bytes = static_cast<std::size_t>(
        key_bytes(layer.dtype, layer.page_tokens, layer.kv_heads, layer.head_size));
    blocks.push_back({layer.keys, bytes});
    blocks.push_back({layer.values, bytes});
  }
  return blocks;
}

RankLink* HostDevice::link() { return state_->link.get(); }

void HostDevice::abandon() noexcept {
  if (state_->link) state_->link->abandon();
}

ThreadTeam& HostDevice::team() { return *state_->team; }

Result<PreparedAdapter> HostDevice::prepare_adapter(const Adapter& adapter) const {
  if (!state_->adapted) return ModelDevice::prepare_adapter(adapter);
  const auto made = HostAdapter::make(adapter, *state_->adapted);
  if (!made) return made.error();
  return PreparedAdapter{adapter_id(adapter), (*made)->bytes(), {*made}};
}

void HostDevice::place_adapter(std::int32_t place, const PreparedAdapter& adapter) {
  auto& places = state_->adapter_places;
  if (place < 0 || std::cmp_greater_equal(place, places.size())) {
    return ModelDevice::place_adapter(place, adapter);
  }
  const ProgramPart& part = state_->program->part;
  for (const auto& one : adapter.by_rank) {
    const auto own = std::dynamic_pointer_cast<const HostAdapter>(one);
    if (own == nullptr || !own->is_for(part)) continue;
    for (HostAdapterPlace& other : places) {
      if (other.id == adapter.id) other = {};
    }
    places[static_cast<std::size_t>(place)] = {adapter.id, own};
    return;
  }
  internal_error("an adapter that was not prepared for this part of the model");
}

void HostDevice::decode(const Step& step) { run_step(*state_, step, false); }

void HostDevice::encode(const Step& step) { run_step(*state_, step, true); }

Rows HostDevice::results() {
  return state_->result == kAbsent ? Rows() : state_->rows(state_->result);
}

float HostDevice::logprob_shift(std::int32_t output) const {
  const std::vector<float>& shifts = state_->step.logprob_shifts;
  return shifts.empty() ? 0 : shifts[static_cast<std::size_t>(output)];
}

Rows HostDevice::hidden_states(std::int32_t first, std::int32_t count) {
  const Rows all = state_->rows(state_->program->hidden_states);
  return {all.row(first), count, all.width, all.stride};
}

Rows HostDevice::logits_of(std::span<const std::int32_t> rows) {
  HostState& state = *state_;
  const OpList& list = state.program->decode;
  if (std::cmp_greater(rows.size(), state.options.max_outputs)) {
    internal_error("more logits are wanted than the device was made for");
  }
  state.step.outputs = rows;
  state.step.needs = {};
  ++state.runs;
  state.result = list.result;
  const std::size_t begin = state.program->first_head_op;
  const int all = state.team->size();
  const auto work = [&](std::int32_t op, Share share) {
    state.run(list.ops[begin + static_cast<std::size_t>(op)], share);
  };
  state.team->run(state.decode_costs.pieces(size_of(state.step), all).subspan(begin), work, all);
  const Rows logits = results();
  state.step.outputs = {};  // they were borrowed from the step
  return logits;
}

const Program& HostDevice::program() const { return *state_->program; }
const DeviceOptions& HostDevice::options() const { return state_->options; }
int HostDevice::threads() const { return state_->team->size(); }

}  // namespace weft
