#pragma once

#include "weft/core/error/error.h"

namespace weft {

/// What can go wrong with uploaded files and fine-tuning jobs.
enum class JobsErrc {
  /// The owner has no file of that id.
  kNoSuchFile = 1,
  /// The owner has no job of that id.
  kNoSuchJob,
  /// A file is not valid training data; the detail names line and field.
  kBadFile,
  /// A file is too large; the detail has the bound.
  kFileTooLarge,
  /// The folder is full; the detail names the key of the bound.
  kFull,
  /// The job's status does not allow the call; the detail names the status.
  kWrongState,
  /// The change of a job is in force, but its record cannot be written: the disk is full, say. The
  /// server writes it as soon as it can; a server that is started before knows nothing of it.
  kNotWritten,
  /// The model or the server does not support a field of the job; the detail begins with the field.
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
