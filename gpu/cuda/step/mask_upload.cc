#include "weft/gpu/cuda/step/mask_upload.h"

#include <cstddef>

namespace weft::cuda {

MaskUpload::MaskUpload(Runtime& runtime, std::int64_t vocabulary, std::int32_t rows,
                       std::uint32_t* device)
    : runtime_(runtime),
      words_(TokenMasks::words(vocabulary)),
      device_(device),
      memory_(
          take_pinned(runtime, static_cast<std::size_t>(rows * words_) * sizeof(std::uint32_t))),
      copying_(make_stream(runtime)),
      copied_(make_event(runtime)) {}

std::span<std::uint32_t> MaskUpload::mask(std::int32_t index) {
  auto* const all = reinterpret_cast<std::uint32_t*>(memory_.get());
  return {all + index * words_, static_cast<std::size_t>(words_)};
}

void MaskUpload::bring(std::int32_t count, Stream stream) {
  const auto bytes = static_cast<std::size_t>(count * words_) * sizeof(std::uint32_t);
  check(runtime_,
        runtime_.copy_to_device(reinterpret_cast<std::byte*>(device_), memory_.get(), bytes,
                                copying_.get()),
        "uploading masks");
  check(runtime_, runtime_.record(copied_.get(), copying_.get()), "uploading masks");
  check(runtime_, runtime_.wait(stream, copied_.get()), "uploading masks");
}

}  // namespace weft::cuda
