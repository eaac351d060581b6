#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"
#include "weft/gpu/device_adapter.h"
#include "weft/gpu/load_progress.h"  // IWYU pragma: export
#include "weft/gpu/step.h"
#include "weft/kernels/rows.h"
#include "weft/model/program/program.h"

namespace weft {

struct Adapter;

/// The sizes by which a device allocates memory; it allocates all of it at construction.
struct DeviceOptions {
  int threads = 0;  ///< the host's most threads; 0 = the cores that this process may use
  bool always_all_threads = false;  ///< host: also for ops too small to gain, for tests
  std::int32_t max_tokens = 512;    ///< most tokens of a step
  std::int32_t max_outputs = 64;    ///< most rows of logits of a step
  std::int32_t max_sequences = 64;  ///< most sequences of a step
  std::int32_t max_guesses = 0;     ///< most guesses in a step; each adds a choice to the step
  std::int64_t max_context = 0;  ///< most positions of a sequence; 0: all that the model supports
  std::int32_t page_tokens = 16;
  std::int32_t pages = 0;           ///< pages of the decoder's KV
  std::int32_t cross_pages = 0;     ///< pages of the encoder's output
  std::int32_t encoder_pages = 0;   ///< pages of an encoder while it computes
  DType kv_dtype = DType::kF32;     ///< one of kKvDTypes
  bool kv_on_host = false;          ///< GPU: `pages` and `cross_pages` are in host memory
  bool rounds_rows = false;         ///< GPU: DeviceLimits::rounds_rows
  std::int32_t adapter_places = 0;  ///< DeviceLimits::adapter_places
  std::int32_t adapter_rank = 0;
};

/// Returns the numbers of one of a program's vectors. Errors of reading the checkpoint's files.
[[nodiscard]] Result<std::vector<float>> vector_values(const VectorPlan& plan);

/// One model on one device. Runs one fused step at a time and allocates nothing in it. One thread
/// at a time may call; results are valid until the next step.
class ModelDevice {
 public:
  ModelDevice() = default;
  ModelDevice(const ModelDevice&) = delete;
  ModelDevice& operator=(const ModelDevice&) = delete;
  virtual ~ModelDevice() = default;

  /// Returns the adapter in this device's own form, for its part of the model. kUnfit names the
  /// parts that must be merged into the weights. Any thread, also during steps.
  [[nodiscard]] virtual Result<PreparedAdapter> prepare_adapter(const Adapter& adapter) const;

  /// Puts a prepared adapter into a place below DeviceOptions::adapter_places. No sequence of the
  /// next step may use another adapter in that place. Steps find the adapter by its id
  /// (KvTraits::adapter). A device without places throws kUnfit.
  virtual void place_adapter(std::int32_t place, const PreparedAdapter& adapter);

  /// Runs the decoder over new tokens (an encoder-only model: over whole sequences). Ids, positions
  /// and pages have been checked: an invalid one is a bug, internal_error.
  virtual void decode(const Step& step) = 0;

  /// Runs the encoder over whole sequences and stores the keys and values for the decoder in their
  /// cross pages. It ignores `outputs`.
  virtual void encode(const Step& step) = 0;

  /// Returns [outputs, V] of the last decode, in the order of Step::outputs. For a model without
  /// logits (Program::has_logits) it returns the hidden states [T, H]. In the host's memory; a
  /// sampler may overwrite them.
  [[nodiscard]] virtual Rows results() = 0;

  /// Returns the hidden states [count, H] of rows first .. first + count - 1 of the last decode:
  /// the head's input. In the host's memory, valid until the next call.
  [[nodiscard]] virtual Rows hidden_states(std::int32_t first, std::int32_t count) = 0;

  /// Computes the logits [rows, V] of rows of the last decode, at most max_outputs. Overwrites
  /// results(). Only for a model that has logits.
  [[nodiscard]] virtual Rows logits_of(std::span<const std::int32_t> rows) = 0;

  /// Reports on a rank that a rank is lost, so that no other rank waits for it. Any thread.
  virtual void abandon() noexcept {}

  [[nodiscard]] virtual const Program& program() const = 0;
  [[nodiscard]] virtual const DeviceOptions& options() const = 0;
};

}  // namespace weft
