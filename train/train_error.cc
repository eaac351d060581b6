#include "weft/train/train_error.h"

#include <array>

namespace weft {
namespace {

constexpr std::array kTrainErrors = {
    ErrorText{static_cast<int>(TrainErrc::kCannotTrain), "cannot_train",
              "this model cannot be trained here"},
    ErrorText{static_cast<int>(TrainErrc::kBadData), "bad_training_data",
              "this is no training data"},
    ErrorText{static_cast<int>(TrainErrc::kBadSetting), "bad_training_setting",
              "this setting of training is wrong"},
    ErrorText{static_cast<int>(TrainErrc::kBadState), "bad_training_state",
              "training cannot go on from this state"},
    ErrorText{static_cast<int>(TrainErrc::kNotFinite), "training_not_finite",
              "training has run away; a lower learning rate (--lr) may help"},
};

constexpr TableCategory kTrainCategory(0x7d1e52c09ab34f68, "weft.train", kTrainErrors);

}  // namespace

const TableCategory& train_category() noexcept { return kTrainCategory; }

boost::system::error_code make_error_code(TrainErrc code) noexcept {
  return {static_cast<int>(code), train_category()};
}

}  // namespace weft
