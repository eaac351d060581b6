#pragma once

#include <cstdint>
#include <memory>

#include "weft/core/dtype.h"
#include "weft/core/error.h"
#include "weft/gpu/host_weights.h"
#include "weft/gpu/step.h"
#include "weft/kernels/rows.h"
#include "weft/model/checkpoint.h"
#include "weft/model/program.h"

namespace weft {

struct HostState;
class ThreadTeam;

/// What a device takes memory for when it is made. All of it is taken then.
struct HostOptions {
  int threads = 0;                  ///< 0: as many as the cores this process may use
  std::int32_t max_tokens = 512;    ///< of a step
  std::int32_t max_outputs = 64;    ///< rows of logits of a step
  std::int32_t max_sequences = 64;  ///< of a step
  std::int64_t max_context = 0;     ///< positions of a sequence; 0: all that the model knows
  std::int32_t page_tokens = 16;
  std::int32_t pages = 0;          ///< of the decoder's KV
  std::int32_t cross_pages = 0;    ///< of the encoder's output
  std::int32_t encoder_pages = 0;  ///< of an encoder at work
  DType kv_dtype = DType::kF32;    ///< f32, f16 or bf16
};

/// One model on the host's processors. Runs one fused step at a time, on a team of threads; nothing
/// is allocated in a step. A row's result does not depend on what else is in the step, bit for bit.
/// One thread at a time may call; results are valid until the next step.
class HostDevice {
 public:
  /// Loads the weights of `program`, which `checkpoint` must be the source of. Both are kept.
  [[nodiscard]] static Result<std::unique_ptr<HostDevice>> load(
      std::shared_ptr<const Checkpoint> checkpoint, std::shared_ptr<const Program> program,
      const HostOptions& options, const LoadProgress& progress = {});

  /// Another device for the same model: it has KV, buffers and threads of its own, and the weights
  /// of this one. kOutOfMemory.
  [[nodiscard]] Result<std::unique_ptr<HostDevice>> share_weights(const HostOptions& options) const;

  /// Bytes that a device of `options` takes beside its weights, and of those what each page of the
  /// decoder's KV takes.
  [[nodiscard]] static std::int64_t memory_bytes(const Program& program,
                                                 const HostOptions& options);
  [[nodiscard]] static std::int64_t page_bytes(const Program& program, const HostOptions& options);

  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;
  ~HostDevice();

  /// Runs the decoder over new tokens (an encoder-only model: over whole sequences). Ids, positions
  /// and pages have been checked: one that does not fit is a bug, internal_error.
  void decode(const Step& step);

  /// Runs the encoder over whole sequences and leaves the keys and values for the decoder in their
  /// cross pages. `outputs` is not looked at.
  void encode(const Step& step);

  /// [outputs, V] of the last decode, in the order of Step::outputs; the hidden states [T, H] of a
  /// model that has no logits. A sampler may overwrite them.
  [[nodiscard]] Rows results();

  /// Copies a page of the decoder's KV, in all layers, over another.
  void copy_page(std::int32_t from, std::int32_t to);

  /// The threads that run the steps, for what is done between two of them.
  [[nodiscard]] ThreadTeam& team();

  [[nodiscard]] const Program& program() const;
  [[nodiscard]] const HostOptions& options() const;
  [[nodiscard]] int threads() const;

 private:
  explicit HostDevice(std::unique_ptr<HostState> state);

  std::unique_ptr<HostState> state_;
};

}  // namespace weft
