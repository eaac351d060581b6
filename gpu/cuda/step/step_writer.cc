#include "weft/gpu/cuda/step/step_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "weft/core/error/internal_error.h"
#include "weft/gpu/step.h"

namespace weft::cuda {
namespace {

std::size_t index_of(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

StepWriter::StepWriter(Runtime& runtime, const CudaStepShape& shape, const StepArea& device,
                       std::int64_t longest)
    : runtime_(runtime), shape_(shape), device_(device), longest_(longest), batches_(shape.pages) {
  const std::size_t bytes = StepArea::cut(shape, longest, nullptr).bytes;
  memory_ = take_pinned(runtime, bytes);
  std::memset(memory_.get(), 0, bytes);
  area_ = StepArea::cut(shape, longest, memory_.get());
  sequences_.reserve(index_of(shape.slots));
  cross_.reserve(index_of(shape.slots));
  items_.reserve(index_of(shape.items));
  place_of_row_.resize(index_of(shape.tokens));
  place_ends_.resize(index_of(shape.adapter_places) + 1);
}

void StepWriter::begin() {
  tokens_ = 0;
  outputs_ = 0;
  writes_ = 0;
  written_pages_ = 0;
  adapts_ = false;
  sequences_.clear();
  cross_.clear();
  ++area_.head->number;
  area_.head->samples = 0;
}

void StepWriter::write_table(std::int64_t table, std::int32_t first,
                             std::span<const std::int32_t> pages) {
  if (pages.empty()) return;
  const auto count = static_cast<std::int32_t>(pages.size());
  if (writes_ >= 3 * shape_.slots || written_pages_ + count > shape_.table_entries()) {
    internal_error("a step writes more page tables than there are");
  }
  area_.writes[writes_++] = {table, first, written_pages_, count};
  std::ranges::copy(pages, area_.pages + written_pages_);
  written_pages_ += count;
}

void StepWriter::add(const StepEntry& entry) {
  const auto known =
      entry.ids.empty() ? std::int32_t{1} : static_cast<std::int32_t>(entry.ids.size());
  const std::int32_t count = known + static_cast<std::int32_t>(entry.guesses.size());
  if (tokens_ + count > shape_.tokens || sequences() == shape_.slots) {
    internal_error("a step is larger than the device was made for");
  }
  if (std::int64_t{entry.start} + count > longest_) {
    internal_error("a sequence is longer than the device was made for");
  }
  const auto longest = static_cast<std::int32_t>(longest_);
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t row = tokens_ + i;
    if (i >= known) {
      area_.wanted[row] = entry.guesses[index_of(i - known)];
    } else {
      area_.wanted[row] = entry.ids.empty() ? -1 - entry.slot : entry.ids[index_of(i)];
    }
    area_.slot_of[row] = entry.slot;
    area_.is_output[row] = entry.observed + i >= entry.prompt_tokens ? 1 : 0;
    area_.positions[row] = entry.start + i;
    area_.long_positions[row] = angle_row(entry.traits, entry.start + i, longest);
    area_.types[row] = token_type(entry.traits, entry.start + i);
    area_.sequence_of[row] = sequences();
    place_of_row_[index_of(row)] = entry.adapter_place;
  }
  adapts_ = adapts_ || entry.adapter_place >= 0;
  sequences_.push_back(
      {tokens_, count, entry.start, entry.start + count, shape_.self_table(entry.slot)});
  cross_.push_back({tokens_, count, 0, entry.cross_context, shape_.cross_table(entry.slot)});
  tokens_ += count;
}

std::int32_t StepWriter::last_row(std::int32_t index) const noexcept {
  const DeviceSequence& sequence = sequences_[index_of(index)];
  return sequence.first + sequence.count - 1;
}

std::int32_t StepWriter::add_output(std::int32_t row) {
  if (outputs_ == shape_.outputs) internal_error("a step wants more logits than there is room for");
  area_.output_rows[outputs_] = row;
  return outputs_++;
}

// NOLINTNEXTLINE(readability-make-member-function-const): it changes what the step uploads
void StepWriter::add_sample(const SampleItem& item) {
  if (samples() == shape_.choices)
    internal_error("a step makes more choices than there is room for");
  area_.samples[area_.head->samples++] = item;
}

template <class T>
void StepWriter::bring(T* to, const T* from, std::size_t count, Stream stream, const char* what) {
  check(
      runtime_,
      runtime_.copy_to_device(reinterpret_cast<std::byte*>(to),
                              reinterpret_cast<const std::byte*>(from), count * sizeof(T), stream),
      what);
}

void StepWriter::upload_tables(Stream stream, std::int32_t* tables) {
  if (writes_ == 0) return;
  bring(device_.writes, area_.writes, index_of(writes_), stream, "uploading page tables");
  bring(device_.pages, area_.pages, index_of(written_pages_), stream, "uploading page tables");
  check(runtime_,
        runtime_.run(CudaTableParams{device_.writes, writes_, device_.pages, tables}, stream),
        "writing page tables");
}

void StepWriter::plan(std::span<const DeviceSequence> sequences, bool causal, CudaAttentionItem* to,
                      std::int32_t& count) {
  AttentionShape shape = shape_.attention;
  shape.causal = causal;
  items_.clear();
  plan_attention(sequences, shape, items_);
  std::ranges::copy(items_, to);
  count = static_cast<std::int32_t>(items_.size());
}

// Rows of one adapter become contiguous, in tasks of up to kAdapterTaskRows.
void StepWriter::write_adapter_tasks(std::int64_t rows) {
  std::fill(place_of_row_.begin() + tokens_, place_of_row_.begin() + rows, -1);
  std::ranges::fill(place_ends_, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    ++place_ends_[index_of(place_of_row_[index_of(row)] + 1)];
  }
  // The end of each place's rows begins at their start, and moves as rows are added.
  std::exclusive_scan(place_ends_.begin(), place_ends_.end(), place_ends_.begin(), 0);
  for (std::int32_t row = 0; row < rows; ++row) {
    area_.adapter_rows[place_ends_[index_of(place_of_row_[index_of(row)] + 1)]++] = row;
  }
  std::int32_t tasks = 0;
  std::int32_t first = 0;
  for (std::int32_t place = -1; place < shape_.adapter_places; ++place) {
    const std::int32_t end = place_ends_[index_of(place + 1)];
    for (; first < end; first += area_.adapter_tasks[tasks++].count) {
      area_.adapter_tasks[tasks] = {place, first, std::min(kAdapterTaskRows, end - first)};
    }
  }
  area_.head->adapter_tasks = tasks;
}

void StepWriter::upload(Stream stream, std::int64_t rows, std::int64_t outputs, bool encodes) {
  for (std::int64_t row = tokens_; row < rows; ++row) {
    area_.wanted[row] = 0;
    area_.slot_of[row] = -1;
    area_.is_output[row] = 0;
    area_.positions[row] = 0;
    area_.long_positions[row] = 0;
    area_.types[row] = 0;
    area_.sequence_of[row] = -1;
  }
  std::fill(area_.output_rows + outputs_,
            area_.output_rows + std::max(outputs, std::int64_t{outputs_}), 0);
  if (encodes) {
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      const std::int32_t slot = area_.slot_of[sequences_[i].first];
      sequences_[i].first_page = shape_.encoder_table(slot);
      // The encoder writes the decoder's cross keys at the positions of its own tokens.
      cross_[i].start = sequences_[i].start;
    }
  }
  if (shape_.adapter_places > 0) write_adapter_tasks(rows);
  std::ranges::copy(sequences_, area_.sequences);
  plan(sequences_, !encodes, area_.items, area_.head->items);
  if (shape_.cross_pages_per_slot > 0) {
    std::ranges::copy(cross_, area_.cross_sequences);
    plan(cross_, false, area_.cross_items, area_.head->cross_items);
  }
  check(
      runtime_,
      runtime_.copy_to_device(reinterpret_cast<std::byte*>(device_.head),
                              reinterpret_cast<const std::byte*>(area_.head), area_.always, stream),
      "uploading a step");
}

void StepWriter::replace_outputs(Stream stream, std::span<const std::int32_t> rows) {
  outputs_ = 0;
  for (const std::int32_t row : rows) add_output(row);
  bring(device_.output_rows, area_.output_rows, rows.size(), stream, "uploading outputs");
}

void StepWriter::copy_pages(Stream stream, std::span<const PageCopy> copies, const Layout& layout) {
  while (!copies.empty()) {
    const std::size_t count = batches_.next(copies, index_of(shape_.pages));
    // The next batch uses the same memory.
    check(runtime_, runtime_.synchronize(stream), "copying pages");
    std::ranges::copy(copies.first(count), area_.copies);
    bring(device_.copies, area_.copies, count, stream, "uploading copies of pages");
    CudaPageCopyParams params;
    params.blocks = layout.page_blocks;
    params.block_count = static_cast<std::int32_t>(2 * layout.self_kv.size());
    params.copies = device_.copies;
    params.copy_count = static_cast<std::int32_t>(count);
    check(runtime_, runtime_.run(params, stream), "copying pages");
    copies = copies.subspan(count);
  }
}

void StepWriter::start_counts(Stream stream, std::int32_t slot, std::span<const TokenId> tokens,
                              std::int32_t prompt_tokens, const TokenCounts& counts) {
  // Few sequences count tokens, and fewer begin with a history, so waiting here is cheap.
  check(runtime_, runtime_.synchronize(stream), "counting tokens");
  std::ranges::copy(tokens, area_.history);
  bring(device_.history, area_.history, tokens.size(), stream, "uploading a history");
  CudaCountParams params;
  params.slot = slot;
  params.tokens = device_.history;
  params.token_count = static_cast<std::int32_t>(tokens.size());
  params.prompt_tokens = prompt_tokens;
  params.counts = counts;
  check(runtime_, runtime_.run(params, stream), "counting tokens");
}

}  // namespace weft::cuda
