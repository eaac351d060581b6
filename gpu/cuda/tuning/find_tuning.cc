#include "weft/gpu/cuda/tuning/find_tuning.h"

#include "weft/gpu/cuda/tuning/builtin_tunings.h"

namespace weft::cuda {

Result<Tuning> find_tuning(const std::string& file, std::string_view gpu, const Program& program) {
  if (!file.empty()) {
    const auto table = TuningTable::read(file);
    if (!table) return table.error();
    return table->tuning_of(program);
  }
  for (const BuiltinTuning& builtin : builtin_tunings()) {
    const auto table = TuningTable::parse(builtin.text, builtin.name);
    if (!table) return table.error();
    if (table->gpu() == gpu) return table->tuning_of(program);
  }
  return Tuning{};
}

}  // namespace weft::cuda
