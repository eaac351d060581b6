#include "weft/train/data/tensor_file.h"

#include <cstddef>

#include "weft/core/dtype.h"
#include "weft/core/io/output.h"
#include "weft/model/checkpoint/safetensors_writer.h"

namespace weft {

Result<void> write_tensor_file(const std::filesystem::path& path,
                               std::span<const NamedNumbers> tensors) {
  std::vector<TensorEntry> entries;
  for (const NamedNumbers& tensor : tensors) {
    entries.push_back({tensor.name, DType::kF32, tensor.shape});
  }
  const TensorLayout layout = lay_out_safetensors(entries);
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  if (auto sized = file->resize(layout.size); !sized) return sized;
  if (auto written = file->write(0, layout.header); !written) return written;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto written = file->write(layout.offsets[i], std::as_bytes(tensors[i].numbers));
    if (!written) return written;
  }
  return file->sync();
}

}  // namespace weft
