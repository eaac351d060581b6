#include "weft/train/data/adapter_writer.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/io/output.h"
#include "weft/model/adapters/adapter_config.h"
#include "weft/train/data/tensor_file.h"

namespace weft {
namespace {

/// The end of a module's path, from the last name on; `names` of them.
std::string_view ending_of(std::string_view module, int names) {
  std::size_t dot = module.size();
  for (; names > 0 && dot != std::string_view::npos; --names) {
    dot = dot == 0 ? std::string_view::npos : module.rfind('.', dot - 1);
  }
  return dot == std::string_view::npos ? module : module.substr(dot + 1);
}

/// The shortest end of the path that no module without a pair has.
std::string target_of(const std::string& module, const std::vector<std::string>& others) {
  for (int names = 1;; ++names) {
    const std::string_view ending = ending_of(module, names);
    const bool is_taken = std::ranges::any_of(
        others, [&](const std::string& other) { return ends_with_name(other, ending); });
    if (!is_taken || ending.size() == module.size()) return std::string(ending);
  }
}

std::string config_of(const LowRankPairs& pairs, const std::string& base) {
  std::set<std::string> targets;
  for (const LowRankPair& pair : pairs.pairs)
    targets.insert(target_of(pair.module, pairs.other_modules));
  boost::json::array modules;
  for (const std::string& target : targets) modules.emplace_back(target);
  boost::json::object config = {
      {"peft_type", "LORA"},     {"task_type", "CAUSAL_LM"},      {"base_model_name_or_path", base},
      {"r", pairs.rank},         {"lora_dropout", pairs.dropout}, {"bias", "none"},
      {"fan_in_fan_out", false}, {"inference_mode", true},        {"target_modules", modules}};
  // PEFT's own alphas are integers mostly, and its readers take both.
  const double whole = std::round(pairs.alpha);
  if (whole == pairs.alpha) {
    config["lora_alpha"] = static_cast<std::int64_t>(whole);
  } else {
    config["lora_alpha"] = pairs.alpha;
  }
  return boost::json::serialize(config) + "\n";
}

}  // namespace

Result<void> write_peft_adapter(const std::filesystem::path& folder, const LowRankPairs& pairs,
                                const std::string& base) {
  const std::string config = config_of(pairs, base);
  auto file = OutputFile::create(folder / "adapter_config.json");
  if (!file) return file.error();
  if (auto written = file->write(0, std::as_bytes(std::span(config))); !written) return written;
  if (auto synced = file->sync(); !synced) return synced;
  std::vector<NamedNumbers> tensors;
  for (const LowRankPair& pair : pairs.pairs) {
    const std::string name = "base_model.model." + pair.module;
    tensors.push_back({name + ".lora_A.weight", {pair.rank, pair.inputs}, pair.a});
    tensors.push_back({name + ".lora_B.weight", {pair.outputs, pair.rank}, pair.b});
  }
  return write_tensor_file(folder / "adapter_model.safetensors", tensors);
}

}  // namespace weft
