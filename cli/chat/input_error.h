#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace weft::cli {

/// The mistake in a line that a user has typed, and its place.
struct InputError {
  std::string what;
  std::size_t offset = 0;  ///< the place of the wrong byte; the line's length when something is
                           ///< missing
};

template <class T>
using Parsed = boost::system::result<T, InputError>;

/// Called by Parsed::value() when there is no value: throws std::invalid_argument.
[[noreturn]] void throw_exception_from_error(const InputError& error,
                                             const boost::source_location& where);

/// Returns three lines: the part of `line` around the mistake, a caret below it, and "column N:
/// message". Columns count characters from 1. The part is cut to fit into `width` columns.
[[nodiscard]] std::string explain(std::string_view line, const InputError& error,
                                  std::size_t width = 78);

}  // namespace weft::cli
