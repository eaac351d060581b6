#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/error/error.h"
#include "weft/kernels/linear/linear_table_cuda.h"
#include "weft/model/program/program.h"

namespace weft::cuda {

/// How the products and the attention of one model are computed on one GPU.
struct Tuning {
  CudaLinearTable linear{};
  /// Decoding scales scores by phi instead of by their running maximum: see CudaAttentionParams.
  bool unified_softmax = false;
  float phi = 0;
};

/// Measurements on one kind of GPU, for all models: the ways of products (FlashDecoding++, arXiv
/// 2311.01282, section 5) and phi of each model whose softmax needs no running maximum (section 3).
/// As text:
///
///     weft-tuning 2 NVIDIA H200
///     bf16 12288 4096 16 flat
///     phi llama-6738415616 0
///
/// The first line has the version and the GPU's name. Then come lines of CudaLinearTable, and lines
/// with a model and a number. A model is named by tuned_name() or by its family. Lines that begin
/// with # are notes, which print() puts after the first line. Empty lines do not count. Lines of
/// version 1 on encoded weights are left out, because only one way was measured for them.
class TuningTable {
 public:
  static constexpr int kVersion = 2;
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
  static constexpr float kMaxPhi = 10'000;

  explicit TuningTable(std::string gpu) : gpu_(std::move(gpu)) {}

  /// kBadTuning: "name:3: what is wrong".
  [[nodiscard]] static Result<TuningTable> parse(std::string_view text, std::string_view name);
  /// As parse(), for a file of at most kMaxBytes; also returns the errors of core/io/file.h.
  [[nodiscard]] static Result<TuningTable> read(const std::string& file);
  /// Returns a text that parse() reads.
  [[nodiscard]] std::string print() const;

  [[nodiscard]] const std::string& gpu() const noexcept { return gpu_; }
  [[nodiscard]] CudaLinearTable& linear() noexcept { return linear_; }

  /// `model` has no blanks. Without a phi the model's softmax uses the running maximum.
  void set_phi(const std::string& model, std::optional<float> phi);

  [[nodiscard]] Tuning tuning_of(const Program& program) const;

 private:
  [[nodiscard]] std::string_view read_phi(std::string_view line);

  std::string gpu_;
  std::string notes_;  // whole lines
  CudaLinearTable linear_;
  std::map<std::string, float, std::less<>> phi_;
};

/// Returns family and number of parameters, as in "llama-6738415616". The name does not depend on
/// the model's file or further training.
[[nodiscard]] std::string tuned_name(const Program& program);

}  // namespace weft::cuda
