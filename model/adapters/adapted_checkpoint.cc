#include "weft/model/adapters/adapted_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/quantized/assembled_source.h"
#include "weft/model/checkpoint/tensor_values.h"

namespace weft {
namespace {

/// All changes that an adapter makes to one tensor.
struct Change {
  const CheckpointTensor* whole = nullptr;
  const AdapterRows* rows = nullptr;
  const AdapterBiasTarget* bias = nullptr;
  std::map<std::int64_t, const AdapterTarget*> targets;  ///< by expert
};

using Changes = std::map<std::string_view, Change>;

Changes changes_of(const Adapter& adapter) {
  Changes changes;
  for (const auto& each : adapter.whole) changes[each.name].whole = &each;
  for (const auto& each : adapter.rows) changes[each.tensor].rows = &each;
  for (const auto& each : adapter.biases) changes[each.tensor].bias = &each;
  for (const auto& each : adapter.targets) changes[each.tensor].targets[each.expert] = &each;
  return changes;
}

/// Adds scale * (B A)[output] to a row of inputs.
void add_output(const AdapterTarget& target, std::int64_t output, std::span<float> row) {
  for (std::int64_t k = 0; k < target.rank; ++k) {
    const float factor =
        target.scale * target.b[static_cast<std::size_t>(output * target.rank + k)];
    const float* const a = target.a.data() + k * target.inputs;
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += factor * a[i];
  }
}

/// Adds column `input` of scale * B A to a row of outputs.
void add_input(const AdapterTarget& target, std::int64_t input, std::span<float> row) {
  for (std::size_t output = 0; output < row.size(); ++output) {
    float sum = 0;
    for (std::int64_t k = 0; k < target.rank; ++k) {
      sum +=
          target.b[output * static_cast<std::size_t>(target.rank) + static_cast<std::size_t>(k)] *
          target.a[static_cast<std::size_t>(k * target.inputs + input)];
    }
    row[output] += target.scale * sum;
  }
}

double squares_of(std::span<const float> row) {
  double sum = 0;
  for (const float each : row) sum += double{each} * each;
  return sum;
}

/// Rows of a base's tensor with the adapter's changes.
class AdaptedRows final : public RowMaker {
 public:
  AdaptedRows(CheckpointTensor source, DType dtype, std::shared_ptr<const Adapter> adapter,
              Change change)
      : source_(std::move(source)),
        dtype_(dtype),
        adapter_(std::move(adapter)),
        change_(std::move(change)) {
    length_ = source_.shape.empty() ? 1 : source_.shape.back();
    if (source_.shape.size() == 3) matrix_rows_ = source_.shape[1];
  }

  /// Measures the outputs that DoRA scales, if the tensor has them as columns.
  Result<void> measure() {
    for (const auto& [expert, target] : change_.targets) {
      if (target->magnitude.empty() || !target->transposed) continue;
      std::vector<double> squares(static_cast<std::size_t>(target->outputs));
      std::vector<float> row(static_cast<std::size_t>(length_));
      for (std::int64_t input = 0; input < target->inputs; ++input) {
        if (auto read = read_values(source_, input * length_, 1, row); !read) return read;
        add_input(*target, input, row);
        for (std::size_t i = 0; i < row.size(); ++i) squares[i] += double{row[i]} * row[i];
      }
      for (std::size_t i = 0; i < squares.size(); ++i) {
        if (squares[i] == 0) return no_length();
        factors_.push_back(target->magnitude[i] / static_cast<float>(std::sqrt(squares[i])));
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> make(std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) const override {
    const auto length = static_cast<std::size_t>(length_);
    std::vector<float> numbers(static_cast<std::size_t>(count) * length);
    if (auto read = read_values(source_, first * length_, 1, numbers); !read) return read;
    const std::size_t bytes = out.size() / static_cast<std::size_t>(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto row = std::span(numbers).subspan(at * length, length);
      if (auto changed = change(first + i, row); !changed) return changed;
      const auto to = out.subspan(at * bytes, bytes);
      if (!narrow_values(dtype_, row, to))
        return bad_adapter(source_.file(), "tensor " + in_quotes(source_.name) + ": row " +
                                               std::to_string(first + i) +
                                               " with the adapter is beyond the range of " +
                                               std::string(to_string(dtype_)));
    }
    return {};
  }

 private:
  [[nodiscard]] Error no_length() const {
    return bad_adapter(source_.file(),
                       "tensor " + in_quotes(source_.name) + ": DoRA scales an output of length 0");
  }

  [[nodiscard]] Result<void> change(std::int64_t number, std::span<float> row) const {
    if (change_.rows != nullptr) replace(*change_.rows, number, row);
    if (change_.bias != nullptr) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] += change_.bias->values[i];
    }
    const bool stack = matrix_rows_ > 0;
    const auto found = change_.targets.find(stack ? number / matrix_rows_ : -1);
    if (found == change_.targets.end()) return {};
    const AdapterTarget& target = *found->second;
    const std::int64_t at = stack ? number % matrix_rows_ : number;
    if (target.transposed) {
      add_input(target, at, row);
      for (std::size_t i = 0; i < factors_.size(); ++i) row[i] *= factors_[i];
      return {};
    }
    add_output(target, at, row);
    if (target.magnitude.empty()) return {};
    const double squares = squares_of(row);
    if (squares == 0) return no_length();
    const float factor =
        target.magnitude[static_cast<std::size_t>(at)] / static_cast<float>(std::sqrt(squares));
    for (float& each : row) each *= factor;
    return {};
  }

  static void replace(const AdapterRows& rows, std::int64_t number, std::span<float> row) {
    // If a row is named twice, the last values count, as in torch's index_copy.
    for (std::size_t i = rows.rows.size(); i-- > 0;) {
      if (rows.rows[i] != number) continue;
      std::ranges::copy(std::span(rows.values).subspan(i * row.size(), row.size()), row.begin());
      return;
    }
  }

  const CheckpointTensor source_;
  const DType dtype_;
  const std::shared_ptr<const Adapter> adapter_;
  const Change change_;           ///< points into the adapter
  std::int64_t length_ = 0;       ///< numbers of a row
  std::int64_t matrix_rows_ = 0;  ///< rows of each matrix of a stack; 0: no stack
  std::vector<float> factors_;    ///< a factor for each output of a transposed matrix
};

Result<CheckpointTensor> changed(const CheckpointTensor& base,
                                 const std::shared_ptr<const Adapter>& adapter,
                                 const Change& change, DType dtype) {
  CheckpointTensor source = change.whole == nullptr ? base : *change.whole;
  const bool only_whole = change.rows == nullptr && change.bias == nullptr &&
                          change.targets.empty() && source.dtype == dtype;
  if (only_whole) return source;
  const std::string file = source.file();
  auto rows = std::make_unique<AdaptedRows>(std::move(source), dtype, adapter, change);
  if (auto measured = rows->measure(); !measured) return measured.error();
  return assembled(base.name, file, dtype, base.shape, std::move(rows));
}

Error encoded(const CheckpointTensor& tensor) {
  std::string what = "tensor " + in_quotes(tensor.name);
  what.append(" is encoded as ").append(to_string(tensor.dtype));
  what.append(
      ": an adapter is merged into weights of 16 or 32 bits; name the model that was quantized, "
      "and "
      "encode it by --weights");
  return bad_adapter(tensor.file(), what);
}

}  // namespace

Result<Checkpoint> adapted_checkpoint(const Checkpoint& base,
                                      const std::shared_ptr<const Adapter>& adapter,
                                      AdaptedType type) {
  const Changes changes = changes_of(*adapter);
  std::vector<CheckpointTensor> tensors;
  tensors.reserve(base.tensors().size());
  for (const CheckpointTensor& tensor : base.tensors()) {
    const auto found = changes.find(tensor.name);
    if (found == changes.end()) {
      tensors.push_back(tensor);
      continue;
    }
    if (is_encoded(tensor.dtype)) return encoded(tensor);
    auto made = changed(tensor, adapter, found->second,
                        type == AdaptedType::kF32 ? DType::kF32 : tensor.dtype);
    if (!made) return made.error();
    tensors.push_back(*std::move(made));
  }
  return base.with_tensors(std::move(tensors));
}

}  // namespace weft
