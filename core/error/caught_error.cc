#include "weft/core/error/caught_error.h"

#include <boost/system/system_error.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

Error caught_error(const std::exception& failure, boost::system::error_code otherwise) {
  std::string what = failure.what();
  const auto* const known = dynamic_cast<const boost::system::system_error*>(&failure);
  if (known == nullptr) return {otherwise, std::move(what)};
  // The text is "detail: ", followed by the code's own text.
  const std::string of_code = known->code().what();
  if (std::string_view(what).ends_with(of_code)) what.resize(what.size() - of_code.size());
  if (std::string_view(what).ends_with(": ")) what.resize(what.size() - 2);
  return {known->code(), std::move(what)};
}

}  // namespace weft
