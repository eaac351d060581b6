#include "weft/model/quantize/quantized_checkpoint.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/model/checkpoint/quantized/assembled_source.h"
#include "weft/model/convert/gguf_model.h"
#include "weft/model/quantize/mix_plan.h"
#include "weft/model/quantize/quantize_plan.h"
#include "weft/model/quantize/quantize_type.h"
#include "weft/model/quantize/row_encoder.h"

namespace weft {
namespace {

/// Encodes rows of a tensor and keeps the tensor's file open.
class EncodedRows final : public RowMaker {
 public:
  EncodedRows(CheckpointTensor tensor, DType dtype) : tensor_(std::move(tensor)), dtype_(dtype) {}

  [[nodiscard]] Result<void> make(std::int64_t first, std::int64_t count,
                                  std::span<std::byte> out) const override {
    return RowEncoder(nullptr).encode({&tensor_, dtype_}, {first, count}, out);
  }

 private:
  const CheckpointTensor tensor_;
  const DType dtype_;
};

Result<std::optional<TensorTypes>> types_of(const Mix& mix, const Checkpoint& checkpoint,
                                            const Program& program, const Spec& family) {
  const MixPlan plan{.mix = mix.id};
  if (checkpoint.format() == CheckpointFormat::kGguf && is_encoded(mix.dtype)) {
    auto types = plan_mix(plan, checkpoint);
    if (!types) return types.error();
    return std::optional(*std::move(types));
  }
  const auto names = gguf_names(family, checkpoint, program);
  return plan_mix_or_type(plan, names ? &*names : nullptr);
}

}  // namespace

Result<Checkpoint> quantized_checkpoint(const Checkpoint& checkpoint, const Program& program,
                                        const Spec& family, std::string_view type) {
  const auto wanted = quantize_type_named(type);
  if (!wanted) return wanted.error();
  QuantizeOptions options;
  options.dtype = wanted->dtype;
  options.may_stay = !is_encoded(wanted->dtype);  // they may already have that type
  if (wanted->mix != nullptr) {
    auto types = types_of(*wanted->mix, checkpoint, program, family);
    if (!types) return types.error();
    options.types = *std::move(types);
  }
  const auto planned = plan_quantization(checkpoint, program, options);
  if (!planned) return planned.error();
  std::vector<CheckpointTensor> tensors;
  tensors.reserve(planned->size());
  for (const PlannedTensor& one : *planned) {
    const CheckpointTensor& source = *one.source;
    if (one.dtype == source.dtype) {
      tensors.push_back(source);
      continue;
    }
    auto made = assembled(source.name, source.file(), one.dtype, source.shape,
                          std::make_unique<EncodedRows>(source, one.dtype));
    if (!made) return made.error();
    tensors.push_back(*std::move(made));
  }
  return checkpoint.with_tensors(std::move(tensors));
}

}  // namespace weft
