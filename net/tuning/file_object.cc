#include "weft/net/tuning/file_object.h"

namespace weft {

boost::json::object file_object(const TrainingFile& file) {
  return {{"id", file.id},
          {"object", "file"},
          {"bytes", file.bytes},
          {"created_at", file.created},
          {"expires_at", nullptr},
          {"filename", file.name},
          {"purpose", file.purpose},
          {"status", "processed"},
          {"status_details", nullptr}};
}

}  // namespace weft
