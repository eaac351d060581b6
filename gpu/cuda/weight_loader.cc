#include "weft/gpu/cuda/weight_loader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "weft/core/kv_dtype.h"
#include "weft/gpu/cuda/buffer_types.h"
#include "weft/gpu/cuda/step/matrix_rows.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/host/rotary_table.h"
#include "weft/gpu/host/thread_team.h"
#include "weft/kernels/encoding/code_boxes.h"
#include "weft/kernels/simd/narrow_float.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/tensor_values.h"

namespace weft::cuda {
namespace {

// One buffer is written, one is copied, and one is in between.
constexpr std::size_t kBuffers = 3;
// Bytes that one thread copies at a time: far more than a page, far less than its share.
constexpr std::int64_t kGrainBytes = std::int64_t{64} << 10U;

/// Fills `out` with the boxes of the outputs from `first` on.
Result<void> write_boxes(const MatrixPlan& plan, DType dtype, std::int64_t first,
                         std::span<std::byte> out) {
  const auto boxes = static_cast<std::size_t>(boxed_bytes(dtype, CodeBox::kRows, plan.inputs));
  std::vector<std::byte> blocks(
      static_cast<std::size_t>(bytes_of(dtype, CodeBox::kRows * plan.inputs).value()));
  for (; !out.empty(); out = out.subspan(boxes), first += CodeBox::kRows) {
    const auto read = read_encoded_outputs(plan, first, CodeBox::kRows, blocks);
    if (!read) return read;
    put_in_boxes(dtype, plan.inputs, blocks, out.first(boxes));
  }
  return {};
}

}  // namespace

WeightLoader::WeightLoader(Runtime& runtime, ThreadTeam& team)
    : runtime_(runtime), team_(team), stream_(make_stream(runtime)) {
  for (std::size_t i = 0; i < kBuffers; ++i) {
    buffers_.push_back({take_load_buffer(runtime), make_event(runtime)});
  }
}

// No copy may read a buffer that is freed.
WeightLoader::~WeightLoader() { static_cast<void>(runtime_.synchronize(stream_.get())); }

Result<void> WeightLoader::bring(std::byte* to, std::size_t bytes, std::size_t grain,
                                 const Write& write) {
  const std::size_t most = kLoadBufferBytes / grain * grain;
  if (most == 0) {
    return Error{DeviceErrc::kUnfit, "a row of a weight takes " + std::to_string(grain) +
                                         " bytes, more than the " +
                                         std::to_string(kLoadBufferBytes) + " of a buffer"};
  }
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t count = std::min(most, bytes - at);
    Buffer& buffer = buffers_[next_++ % buffers_.size()];
    if (buffer.used) check(runtime_, runtime_.wait(buffer.copied.get()), "copying weights");
    const std::span out(buffer.memory.get(), count);
    const auto written = team_.try_run([&](Share share) { return write(out, at, share); });
    if (!written) return written;
    check(runtime_, runtime_.copy_to_device(to + at, out.data(), count, stream_.get()),
          "copying weights");
    check(runtime_, runtime_.record(buffer.copied.get(), stream_.get()), "recording an event");
    buffer.used = true;
    done_ += static_cast<std::int64_t>(count);
    progress_(std::min(done_, total_), total_);
  }
  return {};
}

void WeightLoader::bring_copy(std::byte* to, std::span<const std::byte> bytes) {
  const auto write = [&](std::span<std::byte> out, std::size_t at, Share share) -> Result<void> {
    const auto [begin, end] = share.of(static_cast<std::int64_t>(out.size()), kGrainBytes);
    if (begin == end) return {};
    std::memcpy(out.data() + begin, bytes.data() + at + begin,
                static_cast<std::size_t>(end - begin));
    return {};
  };
  static_cast<void>(bring(to, bytes.size(), 1, write));  // reading from memory cannot fail
}

Result<void> WeightLoader::table(const CheckpointTensor& tensor, const DeviceTable& to) {
  const Extent place = bytes_of_rows(tensor, to.rows);
  const std::int64_t block = block_of(tensor.dtype).bytes;
  const auto write = [&](std::span<std::byte> out, std::size_t at, Share share) {
    const auto [begin, end] =
        share.of(static_cast<std::int64_t>(out.size()), kGrainBytes / block * block);
    return tensor.read_blocks(
        static_cast<std::uint64_t>(place.first + begin) + at,
        out.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  };
  return bring(to.data, static_cast<std::size_t>(place.count), static_cast<std::size_t>(block),
               write);
}

Result<void> WeightLoader::blocks(const MatrixPlan& plan, const DeviceMatrix& matrix) {
  for (int i = 0; i < matrix.run_count; ++i) {
    const EncodedRun& run = matrix.runs[i];
    // Memory holds the blocks of one output after another; boxed, of kRows outputs together.
    const std::int64_t rows = run.boxed ? CodeBox::kRows : 1;
    const std::int64_t grain = matrix.inputs / run.block_elements * run.block_bytes;
    const auto write = [&](std::span<std::byte> out, std::size_t at, Share share) -> Result<void> {
      const auto [begin, stop] = share.of(static_cast<std::int64_t>(out.size()) / grain);
      if (begin == stop) return {};
      const std::int64_t first = run.first + (static_cast<std::int64_t>(at) / grain + begin) * rows;
      const auto own = out.subspan(static_cast<std::size_t>(begin * grain),
                                   static_cast<std::size_t>((stop - begin) * grain));
      return run.boxed ? write_boxes(plan, run.dtype, first, own)
                       : read_encoded_outputs(plan, first, stop - begin, own);
    };
    const auto brought =
        bring(const_cast<std::byte*>(run.data), static_cast<std::size_t>(bytes_of_run(matrix, i)),
              static_cast<std::size_t>(grain), write);
    if (!brought) return brought;
  }
  return {};
}

Result<void> WeightLoader::matrix(const MatrixPlan& plan, const DeviceMatrix& matrix) {
  if (matrix.keeps_blocks()) return blocks(plan, matrix);
  MatrixRows rows(plan, matrix);
  const auto held = team_.try_run([&](Share share) { return rows.hold_transposed(share); });
  if (!held) return held.error();
  for (const bool scales : {false, true}) {
    if (scales && matrix.dtype != DType::kQ8_0) break;
    const std::int64_t row = row_bytes(matrix, scales);
    const std::byte* to = scales ? matrix.scales : matrix.data;
    const auto write = [&](std::span<std::byte> out, std::size_t at, Share share) {
      const auto [begin, end] = share.of(static_cast<std::int64_t>(out.size()) / row);
      return rows.write(static_cast<std::int64_t>(at) / row + begin, end - begin, scales,
                        out.subspan(static_cast<std::size_t>(begin * row),
                                    static_cast<std::size_t>((end - begin) * row)),
                        readers_[static_cast<std::size_t>(share.thread)]);
    };
    const auto brought =
        bring(const_cast<std::byte*>(to), static_cast<std::size_t>(matrix.rows() * row),
              static_cast<std::size_t>(row), write);
    if (!brought) return brought;
  }
  return {};
}

void WeightLoader::lists(const Layout& layout) {
  for (const auto& [list, to] : layout.matrix_lists) {
    std::vector<DeviceMatrix> matrices;
    for (const MatrixId id : *list) {
      matrices.push_back(layout.matrices[static_cast<std::size_t>(id)]);
    }
    bring_copy(reinterpret_cast<std::byte*>(to), std::as_bytes(std::span(matrices)));
  }
  for (const auto& [list, to] : layout.vector_lists) {
    std::vector<const float*> vectors;
    for (const VectorId id : *list) {
      vectors.push_back(id == kAbsent ? nullptr : layout.vectors[static_cast<std::size_t>(id)]);
    }
    bring_copy(reinterpret_cast<std::byte*>(to), std::as_bytes(std::span(vectors)));
  }
}

void WeightLoader::rotary(const Program& program, const Layout& layout, std::int64_t positions) {
  for (std::size_t i = 0; i < program.rotary.size(); ++i) {
    const RotaryTable table = make_rotary_table(program.rotary[i], positions);
    bring_copy(reinterpret_cast<std::byte*>(layout.cosines[i]),
               std::as_bytes(std::span(table.cosines)));
    bring_copy(reinterpret_cast<std::byte*>(layout.sines[i]),
               std::as_bytes(std::span(table.sines)));
  }
}

void WeightLoader::page_blocks(const Layout& layout) {
  std::vector<PageBlocks> blocks;
  for (const DeviceKvLayer& layer : layout.self_kv) {
    const std::int64_t bytes = std::int64_t{layer.page_tokens} * layer.kv_heads *
                               kv_row_bytes(layer.dtype, layer.head_size);
    blocks.push_back({layer.keys, bytes});
    blocks.push_back({layer.values, bytes});
  }
  bring_copy(reinterpret_cast<std::byte*>(layout.page_blocks), std::as_bytes(std::span(blocks)));
}

Result<void> WeightLoader::load(const Program& program, const Layout& layout,
                                const DeviceOptions& options, const LoadProgress& progress) {
  progress_ = progress;
  readers_.assign(static_cast<std::size_t>(team_.size()), PartReader(progress.stop));
  total_ = static_cast<std::int64_t>(layout.weight_bytes);
  for (std::size_t i = 0; i < program.matrices.size(); ++i) {
    const auto brought = matrix(program.matrices[i], layout.matrices[i]);
    if (!brought) return brought;
  }
  for (std::size_t i = 0; i < program.vectors.size(); ++i) {
    const auto values = vector_values(program.vectors[i]);
    if (!values) return values.error();
    bring_copy(reinterpret_cast<std::byte*>(layout.vectors[i]), std::as_bytes(std::span(*values)));
  }
  for (const auto& [tensor, place] : layout.tables) {
    if (const auto brought = table(*tensor, place); !brought) return brought;
  }
  lists(layout);
  rotary(program, layout, options.max_context);
  page_blocks(layout);
  check(runtime_, runtime_.synchronize(stream_.get()), "copying weights");
  progress_(total_, total_);
  return {};
}

}  // namespace weft::cuda
