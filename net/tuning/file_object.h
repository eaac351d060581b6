#pragma once

#include <boost/json/object.hpp>

#include "weft/jobs/files/file_store.h"

namespace weft {

/// Returns OpenAI's object of a file.
[[nodiscard]] boost::json::object file_object(const TrainingFile& file);

}  // namespace weft
