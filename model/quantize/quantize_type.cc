#include "weft/model/quantize/quantize_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/config/edit_distance.h"
#include "weft/kernels/encoding/encoding.h"
#include "weft/kernels/encoding/quantize/quantize.h"
#include "weft/model/model_error.h"

namespace weft {
namespace {

// The most differences of a mistyped name; with more it is another name.
constexpr std::size_t kTypeTypos = 2;
constexpr std::size_t kMostSuggestions = 5;

struct OtherName {
  std::string_view name;
  DType dtype;
};

/// Inferflow's names from its paper's table 3 and its configuration, and their block variants
/// (tensor_common.cc). Variants that differ only in finding the scale share a layout.
constexpr std::array kInferflowNames = {
    OtherName{"q8", DType::kQ8_B32},        OtherName{"q8_b32t1", DType::kQ8_B32},
    OtherName{"q8_b32t2", DType::kQ8_0},    OtherName{"q6", DType::kQ6_B64},
    OtherName{"q6_b64t1", DType::kQ6_B64},  OtherName{"q5", DType::kQ5_B64},
    OtherName{"q5_b64t1", DType::kQ5_B64},  OtherName{"q4", DType::kQ4_B32},
    OtherName{"q4_b32t1", DType::kQ4_B32},  OtherName{"q4_b32t1a", DType::kQ4_B32},
    OtherName{"q4_b32t1b", DType::kQ4_B32}, OtherName{"q4_b64t1", DType::kQ4_B64},
    OtherName{"q3h", DType::kQ3H_B64},      OtherName{"q3h_b64t1", DType::kQ3H_B64},
    OtherName{"q3", DType::kQ3_B32},        OtherName{"q3_b32t1", DType::kQ3_B32},
    OtherName{"q3_b32t1a", DType::kQ3_B32}, OtherName{"q3_b32t1b", DType::kQ3_B32},
    OtherName{"q2", DType::kQ2_B32},        OtherName{"q2_b32t1", DType::kQ2_B32},
    OtherName{"q2_b32t1a", DType::kQ2_B32}, OtherName{"q2_b32t1b", DType::kQ2_B32},
};

/// Returns the name in lower case, without the prefix in llama.cpp's header.
std::string plain_name(std::string_view typed) {
  std::string name(typed);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '-') letter = '_';
  }
  for (const std::string_view before : {"llama_ftype_", "mostly_"}) {
    if (name.starts_with(before)) name.erase(0, before.size());
  }
  return name;
}

/// Whether weights can be written in a type.
bool is_written(DType dtype) {
  if (is_encoded(dtype)) return can_quantize(dtype);
  return is_float(dtype) && dtype != DType::kF64;
}

/// Returns the types in which weights can be written and that are not a mix's name.
std::vector<DType> plain_types() {
  std::vector<DType> types;
  for (const Encoding& encoding : encodings()) {
    const bool is_plain = mix_named(to_string(encoding.dtype)) == nullptr;
    if (is_plain && is_written(encoding.dtype)) types.push_back(encoding.dtype);
  }
  return types;
}

std::optional<DType> dtype_called(const std::string& name) {
  const auto* other = std::ranges::find(kInferflowNames, name, &OtherName::name);
  const auto dtype = other == kInferflowNames.end() ? dtype_named(name) : other->dtype;
  return dtype && is_written(*dtype) ? dtype : std::nullopt;
}

const Mix* mix_called(const std::string& name) {
  std::uint32_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [next, error] = std::from_chars(name.data(), end, number);
  if (error == std::errc() && next == end) return mix_numbered(number);
  return mix_named(name);
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Mix& mix : mixes()) {
    names.emplace_back(mix.name);
    if (!mix.alias.empty()) names.emplace_back(mix.alias);
  }
  for (const DType dtype : plain_types()) names.emplace_back(to_string(dtype));
  for (const OtherName& other : kInferflowNames) names.emplace_back(other.name);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Returns the names that begin like `name` or differ from it by typing errors, the nearest first.
std::string near_names(const std::string& name) {
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& other : all_names()) {
    const bool begins_so = name.size() > 1 && other.starts_with(name);
    const std::size_t distance = begins_so ? 1 : edit_distance(name, other);
    if (distance <= kTypeTypos) found.emplace_back(distance, other);
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (const auto& [distance, other] : found) {
    if (names.size() < kMostSuggestions) names.push_back(other);
  }
  return joined(names);
}

Error unknown(std::string_view typed) {
  std::string detail = "there is no type " + std::string(typed) + " for weights";
  const std::string near = near_names(plain_name(typed));
  detail += near.empty() ? "; `weft quantize --help` lists them" : "; near: " + near;
  return {ModelErrc::kCannotQuantize, detail};
}

Error not_made(DType dtype) {
  return {ModelErrc::kCannotQuantize, "there is no quantizer for " + std::string(to_string(dtype))};
}

}  // namespace

Result<QuantizeType> quantize_type_named(std::string_view typed) {
  const std::string name = plain_name(typed);
  if (const Mix* mix = mix_called(name))
    return QuantizeType{std::string(mix->name), mix->dtype, mix};
  if (const auto dtype = dtype_called(name))
    return QuantizeType{std::string(to_string(*dtype)), *dtype, mix_named(to_string(*dtype))};
  if (const auto dtype = dtype_named(name); dtype && is_encoded(*dtype)) return not_made(*dtype);
  return unknown(typed);
}

Result<DType> tensor_type_named(std::string_view typed) {
  const std::string name = plain_name(typed);
  if (const auto dtype = dtype_called(name)) return *dtype;
  if (const auto dtype = dtype_named(name); dtype && is_encoded(*dtype)) return not_made(*dtype);
  if (const Mix* mix = mix_called(name)) {
    return Error{ModelErrc::kCannotQuantize, std::string(mix->name) +
                                                 " is a mix of types, and a tensor has one: " +
                                                 std::string(to_string(mix->dtype))};
  }
  return unknown(typed);
}

std::string quantize_types_help() {
  std::vector<std::string> mixed;
  std::vector<std::string> plain;
  std::vector<std::string> inferflow;
  for (const Mix& mix : mixes()) mixed.emplace_back(mix.name);
  for (const DType dtype : plain_types()) plain.emplace_back(to_string(dtype));
  for (const OtherName& other : kInferflowNames) {
    if (other.name.find("_b") == std::string_view::npos)
      inferflow.push_back(std::string(other.name) + " = " + std::string(to_string(other.dtype)));
  }
  return "Types by llama.cpp's names, each tensor's as llama-quantize chooses it:\n  " +
         joined(mixed) + "\n  (q3_k, q4_k and q5_k are q3_k_m, q4_k_m and q5_k_m)\n" +
         "Types of the layers' matrices alone:\n  " + joined(plain) + "\nInferflow's names:\n  " +
         joined(inferflow);
}

}  // namespace weft
