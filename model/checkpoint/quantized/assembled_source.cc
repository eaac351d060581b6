#include "weft/model/checkpoint/quantized/assembled_source.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "weft/model/checkpoint/checkpoint_file.h"

namespace weft {
namespace {

/// Rows that are computed when they are read. A reader should read many whole rows: a part of a row
/// costs as much as the whole row.
class AssembledSource final : public ByteSource {
 public:
  AssembledSource(const std::string& name, std::uint64_t size, std::uint64_t row,
                  std::unique_ptr<const RowMaker> maker)
      : ByteSource(name, size), row_(row), maker_(std::move(maker)) {}

 private:
  [[nodiscard]] Result<void> read_within(std::uint64_t offset,
                                         std::span<std::byte> out) const override {
    while (!out.empty()) {
      const std::uint64_t first = offset / row_;
      const std::uint64_t in_row = offset % row_;
      const std::uint64_t whole = in_row == 0 ? out.size() / row_ : 0;
      std::size_t done = 0;
      if (whole > 0) {
        done = whole * row_;
        const auto made = make(first, whole, out.first(done));
        if (!made) return made;
      } else {
        std::vector<std::byte> row(row_);
        if (const auto made = make(first, 1, row); !made) return made;
        done = std::min<std::size_t>(out.size(), row_ - in_row);
        std::memcpy(out.data(), row.data() + in_row, done);
      }
      offset += done;
      out = out.subspan(done);
    }
    return {};
  }

  [[nodiscard]] Result<void> make(std::uint64_t first, std::uint64_t count,
                                  std::span<std::byte> out) const {
    return maker_->make(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count), out);
  }

  std::uint64_t row_;
  std::unique_ptr<const RowMaker> maker_;
};

}  // namespace

Result<CheckpointTensor> assembled(std::string name, const std::string& file, DType dtype,
                                   std::vector<std::int64_t> shape,
                                   std::unique_ptr<const RowMaker> maker) {
  const auto bytes = tensor_bytes(dtype, shape);
  if (!bytes || *bytes == 0)
    return bad_checkpoint(file, "tensor " + in_quotes(name) + " has a shape that has no bytes");
  const auto size = static_cast<std::uint64_t>(*bytes);
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  const auto row = static_cast<std::uint64_t>(*bytes_of(dtype, columns));
  auto source = std::make_shared<AssembledSource>(file, size, row, std::move(maker));
  return CheckpointTensor{std::move(name), dtype, std::move(shape), std::move(source), 0, size};
}

}  // namespace weft
