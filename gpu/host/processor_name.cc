#include "weft/gpu/host/processor_name.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace weft {
namespace {

struct Part {
  std::string_view implementer;
  std::string_view part;
  std::string_view name;
};

// Servers and boards that run models, by MIDR_EL1's numbers as Linux prints them.
constexpr auto kParts = std::to_array<Part>({
    {"0x41", "0xd03", "Arm Cortex-A53"},
    {"0x41", "0xd05", "Arm Cortex-A55"},
    {"0x41", "0xd07", "Arm Cortex-A57"},
    {"0x41", "0xd08", "Arm Cortex-A72"},
    {"0x41", "0xd0b", "Arm Cortex-A76"},
    {"0x41", "0xd41", "Arm Cortex-A78"},
    {"0x41", "0xd42", "Arm Cortex-A78AE"},
    {"0x41", "0xd0c", "Arm Neoverse-N1"},
    {"0x41", "0xd49", "Arm Neoverse-N2"},
    {"0x41", "0xd8e", "Arm Neoverse-N3"},
    {"0x41", "0xd40", "Arm Neoverse-V1"},
    {"0x41", "0xd4f", "Arm Neoverse-V2"},
    {"0x41", "0xd84", "Arm Neoverse-V3"},
    {"0x48", "0xd01", "HiSilicon Kunpeng-920"},
    {"0x51", "0x001", "Qualcomm Oryon"},
    {"0xc0", "0xac3", "Ampere-1"},
    {"0xc0", "0xac4", "Ampere-1a"},
});

/// Returns the value of a line `key : value`; empty if the line has another key.
std::string value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return "";
  const auto colon = line.find_first_not_of(" \t", key.size());
  if (colon == std::string_view::npos || line[colon] != ':') return "";
  const auto start = line.find_first_not_of(" \t", colon + 1);
  return start == std::string_view::npos ? "" : std::string(line.substr(start));
}

std::string name_of(const std::string& implementer, const std::string& part) {
  const auto* const found = std::ranges::find_if(kParts, [&](const Part& each) {
    return each.implementer == implementer && each.part == part;
  });
  if (found != kParts.end()) return std::string(found->name);
  return "implementer " + implementer + ", part " + part;
}

}  // namespace

std::string processor_name(std::istream& cpuinfo) {
  std::string implementer;
  for (std::string line; std::getline(cpuinfo, line);) {
    if (std::string name = value_of(line, "model name"); !name.empty()) return name;
    if (implementer.empty()) implementer = value_of(line, "CPU implementer");
    const std::string part = value_of(line, "CPU part");
    if (!implementer.empty() && !part.empty()) return name_of(implementer, part);
  }
  return "";
}

}  // namespace weft
