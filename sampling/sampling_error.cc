#include "weft/sampling/sampling_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kSamplingErrors = {
    ErrorText{static_cast<int>(SamplingErrc::kParameterOutOfRange), "parameter_out_of_range",
              "a sampling parameter is out of range"},
    ErrorText{static_cast<int>(SamplingErrc::kListTooLong), "list_too_long",
              "a sampling parameter has too many entries"},
    ErrorText{static_cast<int>(SamplingErrc::kTokenNotInVocabulary), "token_not_in_vocabulary",
              "a sampling parameter names a token that does not exist"},
    ErrorText{static_cast<int>(SamplingErrc::kParametersConflict), "parameters_conflict",
              "two sampling parameters do not go together"},
};

constexpr TableCategory kSamplingCategory(0x5d1f3ab86c02e947, "weft.sampling", kSamplingErrors);

}  // namespace

const TableCategory& sampling_category() noexcept { return kSamplingCategory; }

boost::system::error_code make_error_code(SamplingErrc code) noexcept {
  return {static_cast<int>(code), sampling_category()};
}

}  // namespace weft
