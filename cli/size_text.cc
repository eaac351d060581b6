#include "weft/cli/size_text.h"

#include <iomanip>
#include <sstream>

namespace weft::cli {
namespace {

constexpr double kKiB = 1024.0;

}  // namespace

std::string size_text(std::int64_t bytes) {
  std::ostringstream text;
  auto size = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (size < kKiB) break;
    size /= kKiB;
    unit = next;
  }
  text << std::setprecision(size < 100 ? 3 : 4) << size << ' ' << unit;
  return text.str();
}

}  // namespace weft::cli
