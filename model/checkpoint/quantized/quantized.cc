#include "weft/model/checkpoint/quantized/quantized.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "weft/model/checkpoint/quantized/schemes.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

struct Method {
  std::string_view name;
  ReadScheme read;
};

constexpr std::array kMethods = {
    Method{"gptq", read_gptq},
    Method{"awq", read_awq},
    Method{"auto-round", read_auto_round},
    Method{"intel/auto-round", read_auto_round},
    Method{"compressed-tensors", read_compressed_tensors},
    Method{"fp8", read_fp8},
    Method{"fbgemm_fp8", read_fp8},
    Method{"modelopt", read_fp8},
    Method{"mxfp4", read_mxfp4},
    Method{"bitsandbytes", read_bitsandbytes},
};

/// Finds the part of a configuration about quantization; a model that also reads images has it one
/// level down.
const boost::json::value* find_quantization(const boost::json::object& config, std::string& key) {
  for (const std::string_view name : {"quantization_config", "compression_config"}) {
    key = name;
    const auto* found = config.if_contains(name);
    if (found != nullptr && !found->is_null()) return found;
    const auto* text = config.if_contains("text_config");
    if (text == nullptr || !text->is_object()) continue;
    key.insert(0, "text_config.");
    found = text->as_object().if_contains(name);
    if (found != nullptr && !found->is_null()) return found;
  }
  return nullptr;
}

/// Returns the method's name. Older files of bitsandbytes do not state it.
Result<std::string> method_name(const QuantizationConfig& config) {
  const auto method = config.text("quant_method");
  if (!method) return method.error();
  if (*method) return **method;
  for (const std::string_view key : {"load_in_4bit", "load_in_8bit"}) {
    const auto loaded = config.flag(key, false);
    if (!loaded) return loaded.error();
    if (*loaded) return std::string("bitsandbytes");
  }
  return config.unsupported("quant_method", "which is not read");
}

}  // namespace

Result<std::vector<CheckpointTensor>> assemble_quantized(std::vector<CheckpointTensor> tensors,
                                                         const boost::json::object& config,
                                                         const std::string& file) {
  std::string key;
  const auto* found = find_quantization(config, key);
  if (found == nullptr) return tensors;
  if (!found->is_object()) return Error{ModelErrc::kBadConfig, file + ": " + key + " is no object"};
  const QuantizationConfig values(found->as_object(), file + ": " + key);
  const auto name = method_name(values);
  if (!name) return name.error();
  const auto* method = std::ranges::find(kMethods, *name, &Method::name);
  if (method == kMethods.end()) return values.unsupported("quant_method", "which is not read");
  QuantizedModel model{RawTensors(std::move(tensors)), {}};
  if (const auto read = method->read(values, model); !read) return read.error();
  std::vector<CheckpointTensor> all = model.raw.rest();
  std::ranges::move(model.weights, std::back_inserter(all));
  return all;
}

}  // namespace weft
