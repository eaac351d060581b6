#pragma once

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <string_view>

/// Searches in bytes, in linear time, because a client chooses both the text and the part.
namespace weft::jinja {

inline constexpr std::size_t kNotFound = std::numeric_limits<std::size_t>::max();

/// Returns the offset of the first `part` at or after `from`; else kNotFound. Uses glibc's memmem,
/// which is linear in the worst case (some 8 ns for each byte); std::string_view::find is not.
[[nodiscard]] std::size_t find(std::string_view text, std::string_view part, std::size_t from = 0);
/// Returns the offset of the last `part`; else kNotFound. Searches in reversed copies, made in
/// `scratch`.
[[nodiscard]] std::size_t find_last(std::string_view text, std::string_view part,
                                    std::pmr::memory_resource* scratch);
/// Returns how often `part`, which is not empty, occurs without overlaps.
[[nodiscard]] std::size_t count(std::string_view text, std::string_view part);

}  // namespace weft::jinja
