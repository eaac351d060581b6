#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/token.h"
#include "weft/gpu/cuda/layout.h"
#include "weft/gpu/cuda/runtime/resources.h"
#include "weft/gpu/cuda/step/copy_batches.h"
#include "weft/gpu/cuda/step/step_area.h"
#include "weft/gpu/sequence_traits.h"

namespace weft::cuda {

/// One sequence of a step, from the host's view.
struct StepEntry {
  std::int32_t slot = 0;
  std::int32_t start = 0;
  std::span<const TokenId> ids{};      ///< empty: one token, the slot's last
  std::span<const TokenId> guesses{};  ///< guesses after `ids`
  SequenceTraits traits{};
  std::int32_t cross_context = 0;
  std::int32_t observed = 0;        ///< tokens that its sampler has seen before the step
  std::int32_t prompt_tokens = 0;   ///< the prompt's part of the tokens that its sampler sees
  std::int32_t adapter_place = -1;  ///< -1: no adapter
};

/// Writes a step's data and uploads it to the device. Allocates nothing after construction. Throws
/// Failure.
class StepWriter {
 public:
  /// `longest` is the most positions of a sequence; the angles of LongRoPE's long set begin there.
  StepWriter(Runtime& runtime, const CudaStepShape& shape, const StepArea& device,
             std::int64_t longest);

  /// Begins a step, after the device has read the last upload.
  void begin();

  /// Writes entries [first, first + pages.size()) of the page table that begins at `table`
  /// (CudaStepShape::self_table() or its like).
  void write_table(std::int64_t table, std::int32_t first, std::span<const std::int32_t> pages);

  void add(const StepEntry& entry);
  [[nodiscard]] std::int32_t tokens() const noexcept { return tokens_; }
  [[nodiscard]] std::int32_t sequences() const noexcept {
    return static_cast<std::int32_t>(sequences_.size());
  }
  /// Returns the row of the last token of the sequence that was added as number `index`.
  [[nodiscard]] std::int32_t last_row(std::int32_t index) const noexcept;
  /// Whether every sequence has one token.
  [[nodiscard]] bool decodes() const noexcept { return tokens_ == sequences(); }
  /// Whether the logits of every token are wanted. This holds if guesses are verified and no prompt
  /// is computed.
  [[nodiscard]] bool wants_all() const noexcept { return tokens_ == outputs_; }

  /// Whether some sequence has an adapter.
  [[nodiscard]] bool adapts() const noexcept { return adapts_; }

  /// Adds a row whose logits are wanted; returns its index among the outputs.
  std::int32_t add_output(std::int32_t row);
  [[nodiscard]] std::int32_t outputs() const noexcept { return outputs_; }
  void add_sample(const SampleItem& item);
  [[nodiscard]] std::int32_t samples() const noexcept { return area_.head->samples; }

  /// Uploads the page tables that were written.
  void upload_tables(Stream stream, std::int32_t* tables);

  /// Uploads the step. Rows are filled up to `rows`, and outputs up to `outputs`, with rows and
  /// outputs of no sequence. Encoders see their whole sequences.
  void upload(Stream stream, std::int64_t rows, std::int64_t outputs, bool encodes);

  /// Replaces the outputs of the last uploaded step, which has been computed.
  void replace_outputs(Stream stream, std::span<const std::int32_t> rows);

  /// Copies pages of the decoder's KV, one after the other.
  void copy_pages(Stream stream, std::span<const PageCopy> copies, const Layout& layout);

  /// Counts the tokens that a slot begins with.
  void start_counts(Stream stream, std::int32_t slot, std::span<const TokenId> tokens,
                    std::int32_t prompt_tokens, const TokenCounts& counts);

  [[nodiscard]] std::uint64_t number() const noexcept { return area_.head->number; }

 private:
  template <class T>
  void bring(T* to, const T* from, std::size_t count, Stream stream, const char* what);
  void write_adapter_tasks(std::int64_t rows);
  void plan(std::span<const DeviceSequence> sequences, bool causal, CudaAttentionItem* to,
            std::int32_t& count);

  Runtime& runtime_;
  const CudaStepShape shape_;
  const StepArea device_;
  const std::int64_t longest_;
  OwnedPinned memory_;
  StepArea area_;  // points into memory_
  std::int32_t tokens_ = 0;
  std::int32_t outputs_ = 0;
  std::int32_t writes_ = 0;
  std::int32_t written_pages_ = 0;
  std::vector<DeviceSequence> sequences_;
  std::vector<DeviceSequence> cross_;
  std::vector<CudaAttentionItem> items_;
  bool adapts_ = false;
  std::vector<std::int32_t> place_of_row_;  // -1: no adapter
  // Ends in StepArea::adapter_rows; rows without an adapter come first.
  std::vector<std::int32_t> place_ends_;
  CopyBatches batches_;
};

}  // namespace weft::cuda
