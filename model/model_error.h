#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// Errors between the files of a model and a program that runs.
enum class ModelErrc {
  /// A checkpoint file is not what its format says; the detail names file, tensor or field, offset.
  kBadCheckpoint = 1,
  /// Weft does not read this format, version or type of file.
  kUnsupportedFormat,
  /// A pickle asks for something outside the allow-list.
  kForbiddenPickle,
  /// A tensor that the model needs is not in the checkpoint.
  kMissingTensor,
  /// A tensor has another shape or type than the model needs.
  kBadTensor,
  /// A field of a spec or of config.json is missing, of the wrong type or out of range.
  kBadConfig,
  /// No spec claims this model.
  kUnknownModel,
  /// A spec is not valid; the detail names file and key.
  kBadSpec,
  /// A tensor cannot be written in the type that was asked for; the detail names both.
  kCannotQuantize,
  /// An adapter is not valid, asks for something that is not supported, or does not fit the model;
  /// the detail names file and key or tensor.
  kBadAdapter,
};

/// The category of these errors, and the conversion to boost::system::error_code.
[[nodiscard]] const TableCategory& model_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(ModelErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::ModelErrc> : std::true_type {};
