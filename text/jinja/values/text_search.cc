#include "weft/text/jinja/values/text_search.h"

#include <cstring>
#include <string>

namespace weft::jinja {

std::size_t find(std::string_view text, std::string_view part, std::size_t from) {
  if (from > text.size()) return kNotFound;
  if (part.empty()) return from;
  if (part.size() > text.size() - from) return kNotFound;
  const void* place = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  if (place == nullptr) return kNotFound;
  return static_cast<std::size_t>(static_cast<const char*>(place) - text.data());
}

std::size_t find_last(std::string_view text, std::string_view part,
                      std::pmr::memory_resource* scratch) {
  if (part.empty()) return text.size();
  if (part.size() == 1) {
    const std::size_t place = text.rfind(part.front());
    return place == std::string_view::npos ? kNotFound : place;
  }
  const std::pmr::string text_backwards(text.rbegin(), text.rend(), scratch);
  const std::pmr::string part_backwards(part.rbegin(), part.rend(), scratch);
  const std::size_t place = jinja::find(text_backwards, part_backwards);
  return place == kNotFound ? kNotFound : text.size() - place - part.size();
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = find(text, part); at != kNotFound;
       at = find(text, part, at + part.size())) {
    ++found;
  }
  return found;
}

}  // namespace weft::jinja
