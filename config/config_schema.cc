#include "weft/config/config_schema.h"

#include <algorithm>
#include <array>
#include <limits>

namespace weft {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

// For each enum the names of its values, and the values in the same order.
constexpr std::array<std::string_view, 3> kKvDtypeNames = {"f32", "f16", "bf16"};
constexpr std::array kKvDtypes = {DType::kF32, DType::kF16, DType::kBF16};
constexpr std::array<std::string_view, 2> kKvLayoutNames = {"pages", "slab"};
constexpr std::array kKvLayouts = {KvLayout::kPages, KvLayout::kSlab};
constexpr std::array<std::string_view, 2> kAdmissionNames = {"optimistic", "reserve"};
constexpr std::array kAdmissionModes = {AdmissionMode::kOptimistic, AdmissionMode::kReserve};

template <auto kMember, const auto& kNames, const auto& kValues>
constexpr Setting choice() {
  static_assert(kNames.size() == kValues.size());
  return ChoiceSetting{kNames,
                       [](const Config& config) {
                         return static_cast<std::size_t>(
                             std::ranges::find(kValues, config.*kMember) - kValues.begin());
                       },
                       [](Config& config, std::size_t name) { config.*kMember = kValues[name]; }};
}

constexpr IntegerSetting integer(std::int32_t Config::* member, std::int64_t low,
                                 std::int64_t high) {
  return {member, low, high};
}
constexpr IntegerSetting integer(std::int64_t Config::* member, std::int64_t low,
                                 std::int64_t high) {
  return {member, low, high};
}

constexpr std::array kSchema = {
    ConfigKey{"model", "path", TextSetting{&Config::model}},
    ConfigKey{"model", "spec", TextSetting{&Config::spec}},

    ConfigKey{"device", "name", TextSetting{&Config::device}},
    ConfigKey{"device", "threads", integer(&Config::threads, 0, 1024)},

    ConfigKey{"memory", "fraction", NumberSetting{&Config::memory_fraction, 0.01, 1}},
    ConfigKey{"memory", "max_rows", integer(&Config::max_rows, 0, 65'536)},
    ConfigKey{"memory", "max_pages", integer(&Config::max_pages, 0, kInt32Max)},
    ConfigKey{"memory", "page_tokens", integer(&Config::page_tokens, 1, 4'096)},
    ConfigKey{"memory", "max_context", integer(&Config::max_context, 0, kInt32Max)},
    ConfigKey{"memory", "max_step_tokens", integer(&Config::max_step_tokens, 1, 1'048'576)},
    ConfigKey{"memory", "kv_dtype", choice<&Config::kv_dtype, kKvDtypeNames, kKvDtypes>()},
    ConfigKey{"memory", "kv_layout", choice<&Config::kv_layout, kKvLayoutNames, kKvLayouts>()},

    ConfigKey{"scheduling", "policy", PolicySetting{1, 60'000}},
    ConfigKey{"scheduling", "instances", integer(&Config::instances, 1, 1'024)},
    ConfigKey{"scheduling", "admission",
              choice<&Config::admission, kAdmissionNames, kAdmissionModes>()},
    ConfigKey{"scheduling", "watermark", NumberSetting{&Config::watermark, 0, 0.9}},
    ConfigKey{"scheduling", "target_inter_token_ms",
              MillisecondsSetting{&Config::target_inter_token, 0.1, 60'000}},
    ConfigKey{"scheduling", "decode_every", integer(&Config::decode_every, 1, 1'000)},

    ConfigKey{"edge", "max_queued_requests", integer(&Config::max_queued_requests, 1, 1'048'576)},
    ConfigKey{"edge", "max_queued_prompt_tokens",
              integer(&Config::max_queued_prompt_tokens, 1, std::int64_t{1} << 40)},
    ConfigKey{"edge", "preprocess_workers", integer(&Config::preprocess_workers, 1, 256)},
    ConfigKey{"edge", "max_prompt_bytes", integer(&Config::max_prompt_bytes, 1, 256 << 20)},
};

}  // namespace

std::span<const ConfigKey> config_schema() noexcept { return kSchema; }

}  // namespace weft
