#include "weft/core/request_class.h"

namespace weft {

std::string_view to_string(RequestClass cls) noexcept {
  switch (cls) {
    case RequestClass::kChat:
      return "chat";
    case RequestClass::kBatch:
      return "batch";
  }
  return "unknown";
}

}  // namespace weft
