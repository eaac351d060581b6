#include "weft/model/checkpoint/unit_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/model/checkpoint/quantized/assembled_source.h"
#include "weft/model/checkpoint/tensor_values.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

/// A shorter row is divided by this, as torch.nn.functional.normalize does.
constexpr double kLeastLength = 1e-12;

void divide_by_length(std::span<float> row) {
  double squares = 0;
  for (const float each : row) squares += double{each} * each;
  const auto length = static_cast<float>(std::max(std::sqrt(squares), kLeastLength));
  for (float& each : row) each /= length;
}

Error bad_rows(const CheckpointTensor& tensor, const std::string& what) {
  return {ModelErrc::kBadTensor, tensor.file() + ": " + tensor.name + " " + what};
}

class UnitRows final : public RowMaker {
 public:
  explicit UnitRows(CheckpointTensor source) : source_(std::move(source)) {}

  [[nodiscard]] Result<void> make(std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) const override {
    const std::int64_t length = source_.shape[1];
    std::vector<float> row(static_cast<std::size_t>(length));
    const std::size_t bytes = out.size() / static_cast<std::size_t>(count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (auto read = read_values(source_, (first + i) * length, 1, row); !read) return read;
      divide_by_length(row);
      const auto to = out.subspan(static_cast<std::size_t>(i) * bytes, bytes);
      if (!narrow_values(source_.dtype, row, to)) {
        return bad_rows(source_, "row " + std::to_string(first + i) + " has no finite length");
      }
    }
    return {};
  }

 private:
  const CheckpointTensor source_;
};

}  // namespace

Result<Checkpoint> with_unit_rows(const Checkpoint& checkpoint, const std::string& name) {
  std::vector<CheckpointTensor> tensors(checkpoint.tensors().begin(), checkpoint.tensors().end());
  const auto found = std::ranges::find(tensors, name, &CheckpointTensor::name);
  if (found == tensors.end()) {
    return Error{ModelErrc::kBadTensor, checkpoint.path().string() + " has no tensor " + name};
  }
  if (!is_float(found->dtype) || is_encoded(found->dtype) || found->shape.size() != 2) {
    return bad_rows(*found, "is no matrix of 16 or 32 bits, whose rows could be divided");
  }
  auto made = assembled(found->name, found->file(), found->dtype, found->shape,
                        std::make_unique<UnitRows>(*found));
  if (!made) return made.error();
  *found = *std::move(made);
  return checkpoint.with_tensors(std::move(tensors));
}

}  // namespace weft
