#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// What can go wrong when a model is trained.
enum class TrainErrc {
  /// The model has a block without a gradient here; the detail names it.
  kCannotTrain = 1,
  /// A line of the training data is wrong; the detail names file, line and field.
  kBadData,
  /// A setting is out of range, or the settings do not go together; the detail names them.
  kBadSetting,
  /// A saved state is not one, or belongs to another model, data or settings.
  kBadState,
  /// A step's loss, its gradients or the pairs behind it are infinite or NaN; the detail names the
  /// step.
  kNotFinite,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& train_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(TrainErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::TrainErrc> : std::true_type {};
