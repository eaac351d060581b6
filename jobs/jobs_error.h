#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// What can go wrong with uploaded files and fine-tuning jobs.
enum class JobsErrc {
  /// The owner has no file of that id.
  kNoSuchFile = 1,
  /// The owner has no job of that id.
  kNoSuchJob,
  /// A file is no training data; the detail names line and field.
  kBadFile,
  /// A file has more bytes than a file may have; the detail has the bound.
  kFileTooLarge,
  /// The folder has as much as it may have; the detail names the key of the bound.
  kFull,
  /// The job's state does not allow what was asked for; the detail names the state.
  kWrongState,
  /// A job asks for what the model or the server does not do; the detail begins with the field.
  kBadJob,
  /// The folder cannot be used: another process has it, or its files are of another version.
  kBadFolder,
};

/// The category of these errors, and how one becomes a boost::system::error_code.
[[nodiscard]] const TableCategory& jobs_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(JobsErrc code) noexcept;

}  // namespace weft

template <>
struct boost::system::is_error_code_enum<weft::JobsErrc> : std::true_type {};
