#pragma once

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <string_view>

/// Searching in bytes, in linear time: what is searched for and in is a client's.
namespace weft::jinja {

inline constexpr std::size_t kNotFound = std::numeric_limits<std::size_t>::max();

/// The first place of `part` at or after `from`; kNotFound. glibc's memmem is linear in the worst
/// case (some 8 ns for each byte), which std::string_view::find is not.
[[nodiscard]] std::size_t find(std::string_view text, std::string_view part, std::size_t from = 0);
/// The last place of `part`; kNotFound. Searches backwards in copies, from `scratch`.
[[nodiscard]] std::size_t find_last(std::string_view text, std::string_view part,
                                    std::pmr::memory_resource* scratch);
/// How often `part`, which is not empty, occurs without overlaps.
[[nodiscard]] std::size_t count(std::string_view text, std::string_view part);

}  // namespace weft::jinja
