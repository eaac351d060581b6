#include "weft/measure/measure_error.h"

#include <array>

namespace weft::measure {
namespace {

constexpr std::array kMeasureErrors = {
    ErrorText{static_cast<int>(MeasureErrc::kBadLoad), "bad_load", "the load is not valid"},
    ErrorText{static_cast<int>(MeasureErrc::kNoEngine), "no_engine", "no engine can be made"},
    ErrorText{static_cast<int>(MeasureErrc::kBadTrace), "bad_trace", "the trace is not valid"},
    ErrorText{static_cast<int>(MeasureErrc::kBadSteps), "bad_steps",
              "such steps cannot be measured"},
};

constexpr TableCategory kMeasureCategory(0x5be1c07d92f3a846, "weft.measure", kMeasureErrors);

}  // namespace

const TableCategory& measure_category() noexcept { return kMeasureCategory; }

boost::system::error_code make_error_code(MeasureErrc code) noexcept {
  return {static_cast<int>(code), measure_category()};
}

}  // namespace weft::measure
