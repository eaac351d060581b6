#include "weft/gpu/cuda/cuda_device.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/core/background.h"
#include "weft/core/error/internal_error.h"
#include "weft/gpu/adapter_pairs.h"
#include "weft/gpu/cuda/weight_loader.h"
#include "weft/gpu/host/thread_team.h"

namespace weft::cuda {
namespace {

DeviceOptions completed(const Program& program, DeviceOptions options) {
  options.max_context =
      options.max_context == 0 ? program.context : std::min(options.max_context, program.context);
  return options;
}

struct ArenaBytes {
  std::size_t device = 0;
  std::size_t host = 0;  // bytes of the KV cache in host memory
};

ArenaBytes arena_bytes(const Program& program, const DeviceOptions& options,
                       const CudaStepShape& shape) {
  Arena device;
  Arena host;
  const std::shared_ptr<const Program> adapted = adapted_program(program, options);
  static_cast<void>(
      lay_out(program, adapted.get(), options, shape, device, options.kv_on_host ? host : device));
  return {device.used(), host.used()};
}

ArenaBytes arena_bytes(const Program& program, DeviceOptions options,
                       const Properties& properties) {
  options = completed(program, options);
  return arena_bytes(program, options, step_shape_of(program, options, properties));
}

// Clearing this much takes some 20 us, so other models' steps on the same GPU can run in between.
constexpr std::size_t kClearedAtOnce = std::size_t{64} << 20U;

std::byte* bytes_of(void* memory) { return static_cast<std::byte*>(memory); }

}  // namespace

CudaDevice::CudaDevice(std::unique_ptr<Runtime> runtime,
                       std::shared_ptr<const Checkpoint> checkpoint,
                       std::shared_ptr<const Program> program, const DeviceOptions& options,
                       const Tuning& tuning)
    : runtime_(std::move(runtime)),
      checkpoint_(std::move(checkpoint)),
      program_(std::move(program)),
      options_(completed(*program_, options)),
      adapted_(adapted_program(*program_, options_)),
      tuning_(tuning),
      shape_(step_shape_of(*program_, options_, runtime_->properties())) {}

CudaDevice::~CudaDevice() {
  // Any thread may destroy the device, so select this GPU first. Errors were reported before.
  static_cast<void>(runtime_->use());
  leave();
  // Memory may not be freed while work of the stream uses it.
  if (stream_) static_cast<void>(runtime_->synchronize(stream_.get()));
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::load(std::unique_ptr<Runtime> runtime,
                                                     std::shared_ptr<const Checkpoint> checkpoint,
                                                     std::shared_ptr<const Program> program,
                                                     const DeviceOptions& options,
                                                     const Tuning& tuning,
                                                     const LoadProgress& progress) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(std::move(runtime), std::move(checkpoint),
                                                    std::move(program), options, tuning));
  try {
    const auto taken = device->take_memory(progress);
    if (!taken) return taken.error();
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  return device;
}

std::int64_t CudaDevice::memory_bytes(const Program& program, const DeviceOptions& options,
                                      const Properties& properties) {
  return static_cast<std::int64_t>(arena_bytes(program, options, properties).device);
}

std::int64_t CudaDevice::host_bytes(const Program& program, const DeviceOptions& options,
                                    const Properties& properties) {
  return static_cast<std::int64_t>(arena_bytes(program, options, properties).host);
}

Result<void> CudaDevice::take_memory(const LoadProgress& progress) {
  use();
  const ArenaBytes bytes = arena_bytes(*program_, options_, shape_);
  memory_ = cuda::take_memory(*runtime_, bytes.device);
  if (bytes.host > 0) kv_memory_ = take_pinned(*runtime_, bytes.host);
  stream_ = make_stream(*runtime_);
  Arena arena(memory_.get());
  Arena host(kv_memory_.get());
  layout_ = lay_out(*program_, adapted_.get(), options_, shape_, arena,
                    options_.kv_on_host ? host : arena);
  // Counters and page tables begin as zeros, and padding must not hold another program's numbers.
  clear(memory_.get(), bytes.device);
  clear(kv_memory_.get(), bytes.host);
  auto loaded = run_in_background([&] {
    use();
    ThreadTeam team({options_.threads, false});
    return WeightLoader(*runtime_, team).load(*program_, layout_, options_, progress);
  });
  if (!loaded) return loaded;
  writer_ = std::make_unique<StepWriter>(*runtime_, shape_, layout_.step, options_.max_context);
  if (!adapted_) return {};
  adapted_layout_ = layout_;
  adapted_layout_.buffers = layout_.adapters.buffers;
  adapter_loads_ =
      std::make_unique<AdapterLoads>(*runtime_, layout_.adapters.places, program_->part);
  adapters_.resize(static_cast<std::size_t>(options_.adapter_places));
  return {};
}

Result<PreparedAdapter> CudaDevice::prepare_adapter(const Adapter& adapter) const {
  if (!adapted_) return ModelDevice::prepare_adapter(adapter);
  // The caller's thread has no device yet. Without this one, page-locked memory would belong to the
  // first device.
  try {
    check(*runtime_, runtime_->use(), "choosing the GPU");
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  const auto made = CudaAdapter::make(adapter, *adapted_, runtime_->load_buffers());
  if (!made) return made.error();
  return PreparedAdapter{adapter_id(adapter), (*made)->bytes(), {*made}};
}

void CudaDevice::place_adapter(std::int32_t place, const PreparedAdapter& adapter) {
  if (place < 0 || std::cmp_greater_equal(place, adapters_.size()))
    return ModelDevice::place_adapter(place, adapter);
  use();
  adapter_loads_->begin(place, std::make_shared<const PreparedAdapter>(adapter));
  adapter_loads_->finish();
  std::vector<std::int32_t> places;
  adapter_loads_->tell(places);
  std::ranges::replace(adapters_, adapter.id, AdapterId{});
  adapters_[static_cast<std::size_t>(place)] = adapter.id;
}

std::int32_t CudaDevice::place_of(const AdapterId& adapter) const {
  if (!adapter) return -1;
  const auto found = std::ranges::find(adapters_, adapter);
  if (found == adapters_.end()) internal_error("a row's adapter is in no place");
  return static_cast<std::int32_t>(found - adapters_.begin());
}

CudaDevice::Forward CudaDevice::forward(const StepView& view) const {
  if (view.adapts) return {*adapted_, adapted_layout_};
  return {*program_, layout_};
}

void CudaDevice::clear(std::byte* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kClearedAtOnce) {
    check(*runtime_,
          runtime_->clear(memory + at, std::min(kClearedAtOnce, bytes - at), stream_.get()),
          "clearing memory");
    synchronize();
  }
}

Result<void> CudaDevice::join(const CudaRank& place) {
  try {
    use();
    check(*runtime_, runtime_->join(place), "meeting the other ranks");
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  is_rank_ = true;
  return {};
}

Result<void> CudaDevice::meet(HostNeighbours neighbours) {
  try {
    use();
    host_stream_ = std::make_unique<HostStream>(*runtime_, std::move(neighbours),
                                                shape_.tokens * program_->hidden);
  } catch (const Failure& failure) {
    return error_of(failure);
  }
  return {};
}

const HostNeighbours* CudaDevice::host_neighbours() const noexcept {
  return host_stream_ ? &host_stream_->neighbours() : nullptr;
}

void CudaDevice::abandon() noexcept {
  runtime_->abandon();
  if (host_stream_) host_stream_->neighbours().link->abandon();
}

void CudaDevice::receive_stream(const OpList& list, std::int64_t rows) {
  if (host_stream_) host_stream_->receive(list, layout_, rows, stream_.get());
}

void CudaDevice::take_stream(const OpList& list, std::int64_t rows) {
  if (host_stream_) host_stream_->take(list, layout_, rows, stream_.get());
}

void CudaDevice::send_stream() {
  if (host_stream_) host_stream_->send();
}

void CudaDevice::use() { check(*runtime_, runtime_->use(), "choosing the GPU"); }

void CudaDevice::synchronize() {
  check(*runtime_, runtime_->synchronize(stream_.get()), "waiting for the device");
}

void CudaDevice::launch(const OpList& list, const StepView& view) {
  const StepArea& area = layout_.step;
  CudaResolveParams resolve;
  resolve.rows = view.rows;
  resolve.wanted = area.wanted;
  resolve.slot_of = area.slot_of;
  resolve.is_output = area.is_output;
  resolve.last_tokens = layout_.last_tokens;
  resolve.settings = layout_.settings;
  // Samplers do not count the tokens that an encoder reads.
  if (!view.encodes) resolve.counts = {layout_.token_counts, program_->vocabulary};
  resolve.ids = area.ids;
  check(*runtime_, runtime_->run(resolve, stream_.get()), "resolving tokens");
  const auto [program, layout] = forward(view);
  const bool is_encoder = &list == &program_->encode;
  launch_ops(*runtime_, program, is_encoder ? program.encode : program.decode, layout, shape_,
             tuning_, as_asked(view), stream_.get());
}

void CudaDevice::launch_head(const StepView& view) {
  const auto [program, layout] = forward(view);
  const std::vector<Op>& ops = program.decode.ops;
  OpList head;
  head.ops.assign(ops.begin() + static_cast<std::ptrdiff_t>(program.first_head_op), ops.end());
  launch_ops(*runtime_, program, head, layout, shape_, tuning_, as_asked(view), stream_.get());
}

StepView CudaDevice::as_asked(StepView view) const {
  view.rounds_rows = options_.rounds_rows;
  return view;
}

// Returns the pages that a context of this many tokens needs.
std::span<const std::int32_t> CudaDevice::first_pages(std::span<const std::int32_t> pages,
                                                      std::int32_t tokens) const {
  const std::int32_t count = (tokens + options_.page_tokens - 1) / options_.page_tokens;
  return pages.first(static_cast<std::size_t>(count));
}

void CudaDevice::write_step(const Step& step, bool encodes) {
  writer_->begin();
  std::int32_t slot = 0;
  for (const StepSequence& sequence : step.sequences) {
    writer_->write_table(encodes ? shape_.encoder_table(slot) : shape_.self_table(slot), 0,
                         first_pages(sequence.pages, sequence.start + sequence.count));
    writer_->write_table(shape_.cross_table(slot), 0,
                         first_pages(sequence.cross_pages, sequence.cross_context));
    StepEntry entry;
    entry.slot = slot++;
    entry.start = sequence.start;
    entry.ids = step.ids.subspan(static_cast<std::size_t>(sequence.first),
                                 static_cast<std::size_t>(sequence.count));
    entry.traits = sequence.traits;
    entry.cross_context = sequence.cross_context;
    entry.adapter_place = place_of(sequence.traits.kv.adapter);
    writer_->add(entry);
  }
  writer_->upload_tables(stream_.get(), layout_.page_tables);
}

void CudaDevice::encode(const Step& step) {
  use();
  write_step(step, true);
  encode_written();
}

void CudaDevice::encode_written() {
  const std::int64_t rows = writer_->tokens();
  writer_->upload(stream_.get(), rows, 0, true);
  receive_stream(program_->encode, rows);
  launch(program_->encode, {.rows = rows, .encodes = true, .adapts = writer_->adapts()});
  take_stream(program_->encode, rows);
  synchronize();
  send_stream();
}

void CudaDevice::decode(const Step& step) {
  use();
  // An encoder-only model reads whole sequences, through the encoder's pages.
  const bool whole = !program_->causal;
  write_step(step, whole);
  for (const std::int32_t row : step.outputs) writer_->add_output(row);
  const auto rows = static_cast<std::int64_t>(step.ids.size());
  const std::int64_t outputs = writer_->outputs();
  result_ = program_->decode.result;
  result_rows_ = program_->has_logits ? outputs : rows;
  if (rows == 0) return;
  writer_->upload(stream_.get(), rows, outputs, whole);
  receive_stream(program_->decode, rows);
  launch(program_->decode, {.rows = rows,
                            .outputs = outputs,
                            .decodes = writer_->decodes() && !whole,
                            .encodes = whole,
                            .adapts = writer_->adapts()});
  take_stream(program_->decode, rows);
  if (result_ == kAbsent) {  // another rank has the result
    synchronize();
  } else {
    copy_to_host(result_, 0, result_rows_, results_);
  }
  send_stream();
}

/// Copies f32 rows of a buffer. The first call allocates the host memory, since few pipelines call.
Rows CudaDevice::copy_to_host(BufferId buffer, std::int64_t first, std::int64_t count,
                              std::vector<float>& to) {
  const DeviceRows from = layout_.buffers[static_cast<std::size_t>(buffer)];
  // A copy to memory that is not page-locked waits for earlier work. It would wait for ever after
  // another rank is lost.
  if (is_rank_) synchronize();
  if (to.empty()) {
    const auto& plan = program_->buffers[static_cast<std::size_t>(buffer)];
    const std::int64_t most = plan.rows == RowKind::kOutputs ? shape_.outputs : shape_.tokens;
    to.resize(static_cast<std::size_t>(most * from.width));
  }
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(float));
  // Rows without a gap between them need one copy.
  const std::int64_t together = from.stride == from.width ? count : 1;
  for (std::int64_t row = 0; row < count; row += together) {
    check(*runtime_,
          runtime_->copy_to_host(reinterpret_cast<std::byte*>(to.data() + row * from.width),
                                 bytes_of(from.data) + (first + row) * from.stride * kSize,
                                 static_cast<std::size_t>(together * from.width * kSize),
                                 stream_.get()),
          "copying results");
  }
  synchronize();
  return {to.data(), count, from.width, from.width};
}

Rows CudaDevice::hidden_states(std::int32_t first, std::int32_t count) {
  return copy_to_host(program_->hidden_states, first, count, hidden_states_);
}

Rows CudaDevice::logits_of(std::span<const std::int32_t> rows) {
  writer_->replace_outputs(stream_.get(), rows);
  const StepView view{.rows = writer_->tokens(),
                      .outputs = static_cast<std::int64_t>(rows.size()),
                      .adapts = writer_->adapts()};
  launch_head(view);
  result_ = program_->decode.result;
  result_rows_ = view.outputs;
  if (result_ == kAbsent) {
    synchronize();
    return {};
  }
  return copy_to_host(result_, 0, result_rows_, results_);
}

Rows CudaDevice::results() {
  if (result_ == kAbsent) return {};
  const std::int64_t width = layout_.buffers[static_cast<std::size_t>(result_)].width;
  return {results_.data(), result_rows_, width, width};
}

}  // namespace weft::cuda
