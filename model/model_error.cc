#include "weft/model/model_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kModelErrors = {
    ErrorText{static_cast<int>(ModelErrc::kBadCheckpoint), "bad_checkpoint",
              "the checkpoint is not valid"},
    ErrorText{static_cast<int>(ModelErrc::kUnsupportedFormat), "unsupported_format",
              "the format is not supported"},
    ErrorText{static_cast<int>(ModelErrc::kForbiddenPickle), "forbidden_pickle",
              "the pickle asks for something that is not allowed"},
    ErrorText{static_cast<int>(ModelErrc::kMissingTensor), "missing_tensor",
              "the checkpoint lacks a tensor that the model needs"},
    ErrorText{static_cast<int>(ModelErrc::kBadTensor), "bad_tensor",
              "the tensor does not fit the model"},
    ErrorText{static_cast<int>(ModelErrc::kBadConfig), "bad_config",
              "the model's configuration is not valid"},
    ErrorText{static_cast<int>(ModelErrc::kUnknownModel), "unknown_model",
              "no spec claims this model"},
    ErrorText{static_cast<int>(ModelErrc::kBadSpec), "bad_spec", "the model spec is not valid"},
    ErrorText{static_cast<int>(ModelErrc::kCannotQuantize), "cannot_quantize",
              "the tensor cannot be quantized so"},
    ErrorText{static_cast<int>(ModelErrc::kBadAdapter), "bad_adapter",
              "the adapter cannot be used with this model"},
};

constexpr TableCategory kModelCategory(0xc3f8217d5b904ae6, "weft.model", kModelErrors);

}  // namespace

const TableCategory& model_category() noexcept { return kModelCategory; }

boost::system::error_code make_error_code(ModelErrc code) noexcept {
  return {static_cast<int>(code), model_category()};
}

}  // namespace weft
