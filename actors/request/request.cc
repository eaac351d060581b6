#include "weft/actors/request/request.h"

namespace weft {

std::string_view to_string(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "unknown";
}

}  // namespace weft
