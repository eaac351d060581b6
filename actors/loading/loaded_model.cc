#include "weft/actors/loading/loaded_model.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "weft/actors/adapters/adapter_registry.h"
#include "weft/actors/engine_error.h"
#include "weft/actors/loading/draft_model.h"
#include "weft/config/replicas_text.h"
#include "weft/gpu/device_error.h"
#include "weft/gpu/device_info.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/ranks/settle_partition.h"
#include "weft/gpu/ranks/world/rank_key.h"
#include "weft/model/adapters/adapter.h"
#include "weft/model/adapters/adapter_file.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/model_error.h"
#include "weft/model/spec/spec.h"
#include "weft/model/vectors/read_vector_model.h"

namespace weft {
namespace {

std::vector<TokenId> end_tokens(const Program& program, const Tokenizer& tokenizer) {
  const auto known = tokenizer.end_tokens();
  std::vector<TokenId> ends(known.begin(), known.end());
  for (const std::int64_t id : program.end_tokens) ends.push_back(static_cast<TokenId>(id));
  return sorted_once(std::move(ends));
}

/// Returns the type of most of the bytes.
std::string weight_type_of(const Checkpoint& checkpoint) {
  std::map<DType, std::uint64_t> bytes;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) bytes[tensor.dtype] += tensor.size;
  const auto most =
      std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
  return most == bytes.end() ? std::string() : std::string(to_string(most->first));
}

ModelFacts facts_of(const OpenedModel& opened) {
  const Program& program = *opened.program;
  return {.family = program.family,
          .format = std::string(to_string(opened.checkpoint->format())),
          .weight_type = weight_type_of(*opened.checkpoint),
          .parameters = program.parameters,
          .stored_bytes = static_cast<std::int64_t>(opened.checkpoint->stored_bytes()),
          .hidden = program.hidden,
          .layers = program.layers};
}

ServedModel served(const Program& program, Tokenizer tokenizer, std::vector<TokenId> ends,
                   const StepDevices& devices, DType kv_dtype) {
  ServedModel model{.tokenizer = std::move(tokenizer)};
  model.vocabulary = program.vocabulary;
  model.context = devices.limits.context;
  model.kv_dtype = kv_dtype;
  model.kv_bytes = static_cast<std::int64_t>(devices.devices.size()) * devices.limits.pages *
                   devices.limits.page_tokens * program.kv_bytes_per_token(kv_dtype);
  model.kv_on_host = devices.limits.kv_on_host;
  model.has_encoder = program.has_encoder;
  model.start_token = static_cast<TokenId>(program.start_token);
  model.end_tokens = std::move(ends);
  for (const RotaryFrequencies& rotary : program.rotary) {
    if (!rotary.long_frequency.empty()) model.long_from = rotary.long_from;
  }
  return model;
}

void set_vectors(std::shared_ptr<const VectorModel> vectors, ServedModel& model) {
  model.vectors = std::move(vectors);
  if (model.vectors == nullptr) return;
  const VectorModel& own = *model.vectors;
  model.vector_facts = {
      .embeddings = !own.scores,
      .scores = own.scores,
      .size = own.size(),
      .max_tokens = own.max_tokens > 0 ? std::min(own.max_tokens, model.context) : model.context,
      .labels = own.labels,
      .prompts = own.prompts};
}

/// Returns the format of calls or thoughts in a spec's table `output`; null if it has none.
Result<const OutputFormat*> said_format(const Spec& spec, std::string_view key) {
  static const OutputFormat none{};
  const auto* const table = spec.tree().if_contains("output");
  const auto* const value =
      table && table->is_object() ? table->as_object().if_contains(key) : nullptr;
  if (value == nullptr) return nullptr;
  const auto* const name = value->if_string();
  if (name != nullptr && name->empty()) return &none;
  const OutputFormat* const found =
      name == nullptr ? nullptr : known_format(std::string_view(name->data(), name->size()));
  if (found != nullptr) return found;
  return Error{ModelErrc::kBadSpec,
               spec.file() + ": output." + std::string(key) + " is none of the known formats"};
}

/// Returns how the model writes thoughts and calls: by its spec, otherwise by its chat template.
Result<std::shared_ptr<const ModelFormat>> format_of(const OpenedModel& opened,
                                                     const Tokenizer& tokenizer) {
  if (opened.family == nullptr) return ModelFormat::find(tokenizer);
  const auto calls = said_format(*opened.family, "calls");
  if (!calls) return calls.error();
  const auto thoughts = said_format(*opened.family, "thoughts");
  if (!thoughts) return thoughts.error();
  return ModelFormat::make(find_output_format(tokenizer.chat_templates(), *calls, *thoughts),
                           tokenizer);
}

/// Returns the devices of replicas. The policy of instances means so many replicas of one row.
std::vector<std::string> devices_of(const Config& config) {
  std::vector<std::string> devices = replica_devices(config).value();
  if (config.policy != BatchPolicy::kInstances) return devices;
  return std::vector(static_cast<std::size_t>(config.instances), devices.front());
}

/// Whether requests may name adapters.
bool takes_adapters(const Config& config) {
  return config.adapter_places > 0 || !config.adapters.empty() || !config.adapters_folder.empty() ||
         !config.training_folder.empty();
}

/// The greatest rank that adapters.named alone decides. Memory of all places grows with the rank,
/// and few adapters have a greater one; beyond it the model is not loaded unless adapters.max_rank
/// is set.
constexpr std::int64_t kMostDerivedRank = 256;

/// Returns the beginning of a message about a configured adapter.
std::string key_of(const NamedAdapter& one) { return "adapters.named[" + one.name + "]: "; }

/// Adds the places of adapters to the wishes. Reads the configured adapters for their ranks.
Result<void> wish_adapters(const Config& config, CapacityWishes& wishes) {
  if (!takes_adapters(config)) return {};
  wishes.adapter_places =
      config.adapter_places > 0 ? config.adapter_places : Config::kDefaultAdapterPlaces;
  wishes.adapter_rank = config.adapter_max_rank;
  if (wishes.adapter_rank > 0) return {};
  std::int64_t rank = Config::kLeastAdapterRank;
  for (const NamedAdapter& one : config.adapters) {
    const auto file = read_adapter(one.path);
    if (!file) return Error{file.error().code, key_of(one) + file.error().detail};
    for (const StoredPair& pair : file->pairs) rank = std::max(rank, pair.rank);
    if (rank <= kMostDerivedRank) continue;
    return Error{DeviceErrc::kUnfit,
                 key_of(one) + "its rank is " + std::to_string(rank) + ", and each of the " +
                     std::to_string(wishes.adapter_places) +
                     " places would have the size for it; set adapters.max_rank to allow ranks "
                     "above " +
                     std::to_string(kMostDerivedRank)};
  }
  wishes.adapter_rank = static_cast<std::int32_t>(rank);
  return {};
}

/// Adds the draft model to the wishes.
Result<void> wish_draft(const Config& config, const OpenedModel& opened, const Tokenizer& tokenizer,
                        DeviceWishes& wishes) {
  if (config.speculation_model.empty()) return {};
  auto draft = open_draft_model(opened, tokenizer, config.speculation_model);
  if (!draft) return draft.error();
  wishes.draft = *std::move(draft);
  wishes.looks_up = config.speculation != SpeculationKind::kOff || config.speculation_prediction;
  return {};
}

/// Returns the function that reads adapters for a model; it keeps the model's files open.
std::function<Result<Adapter>(const std::filesystem::path&)> reader_of(const OpenedModel& opened) {
  return
      [checkpoint = opened.checkpoint, program = opened.program,
       architecture = opened.architecture](const std::filesystem::path& path) -> Result<Adapter> {
        const auto file = read_adapter(path);
        if (!file) return file.error();
        return bind_adapter(*file, *checkpoint, *program, *architecture);
      };
}

/// Refuses an adapter that a place has no room for.
Result<void> check_rank(const Adapter& adapter, std::int64_t most) {
  for (const AdapterTarget& target : adapter.targets) {
    if (target.rank <= most) continue;
    return Error{DeviceErrc::kUnfit, target.tensor + ": its rank is " +
                                         std::to_string(target.rank) +
                                         ", and adapters.max_rank is " + std::to_string(most)};
  }
  return {};
}

/// Returns what all ranks make of an adapter, in host memory.
Result<std::shared_ptr<const PreparedAdapter>> prepare_by(
    const std::vector<std::weak_ptr<StepDevice>>& ranks, const Adapter& adapter) {
  auto prepared = std::make_shared<PreparedAdapter>();
  std::copy_n(adapter.hash.begin(), prepared->id.bytes.size(), prepared->id.bytes.begin());
  for (const std::weak_ptr<StepDevice>& rank : ranks) {
    const auto device = rank.lock();
    if (device == nullptr) return Error{EngineErrc::kStopping, {}};
    auto part = device->prepare_adapter(adapter);
    if (!part) return part.error();
    prepared->bytes += (*part)->bytes();
    prepared->by_rank.push_back(*std::move(part));
  }
  return prepared;
}

/// Refuses replicas on unlike devices: what the first one's ranks prepare is for all.
Result<void> check_alike(const std::vector<std::string>& replicas) {
  const auto kind_of = [](std::string device) {
    std::erase_if(device, [](char c) { return c >= '0' && c <= '9'; });
    return device;
  };
  for (const std::string& one : replicas) {
    if (kind_of(one) == kind_of(replicas.front())) continue;
    return Error{DeviceErrc::kUnfit, "adapters: replicas must be alike, and there are " +
                                         replicas.front() + " and " + one};
  }
  return {};
}

/// Returns the model's adapters, with the configured ones in memory; null where it takes none. The
/// registry does not keep the devices.
Result<std::shared_ptr<AdapterRegistry>> registry_of(const OpenedModel& opened,
                                                     const Config& config,
                                                     const std::vector<std::string>& replicas,
                                                     const StepDevices& devices) {
  if (!takes_adapters(config)) return std::shared_ptr<AdapterRegistry>();
  if (const auto alike = check_alike(replicas); !alike) return alike.error();
  const DeviceLimits& limits = devices.limits;
  if (limits.adapter_places == 0) {
    return Error{DeviceErrc::kUnfit,
                 "adapters: this model's devices compute none beside its weights; model.adapter "
                 "merges one into them"};
  }
  const DeviceRanks& first = devices.devices.front();
  AdapterRegistry::Options options;
  options.folder = config.adapters_folder;
  options.any_path = config.adapters_any_path;
  options.upload_bytes = config.adapters_upload_bytes;
  options.host_bytes = config.adapters_host_bytes;
  options.places =
      std::int64_t{limits.adapter_places} * static_cast<std::int64_t>(devices.devices.size());
  options.read = reader_of(opened);
  options.prepare = [ranks = std::vector<std::weak_ptr<StepDevice>>(first.begin(), first.end()),
                     most = std::int64_t{limits.adapter_rank}](
                        const Adapter& adapter) -> Result<AdapterRegistry::Prepared> {
    if (const auto fits = check_rank(adapter, most); !fits) return fits.error();
    return prepare_by(ranks, adapter);
  };
  auto registry = std::make_shared<AdapterRegistry>(std::move(options));
  if (auto loaded = registry->load_named(config.adapters); !loaded) return loaded.error();
  return registry;
}

/// Chooses devices if `wishes` leaves them open. Returns the reasons, none if it does not.
Result<std::vector<std::string>> settle(const OpenedModel& model, DeviceWishes& wishes) {
  if (std::ranges::none_of(wishes.replicas, is_auto_partition)) return std::vector<std::string>();
  if (wishes.replicas.size() > 1) {
    return Error{DeviceErrc::kUnfit,
                 "replicas: a partition that is chosen (auto) is one replica's"};
  }
  if (wishes.budget) {
    return Error{DeviceErrc::kUnfit, "partition: auto: a memory budget is of one device's memory"};
  }
  auto choice = settle_partition(model, wishes.replicas.front(), wishes.capacity, wishes.kv_dtype,
                                 !wishes.tuning.empty());
  if (!choice) return choice.error();
  wishes.replicas.front() = std::move(choice->partition);
  return std::move(choice->reasons);
}

DeviceWishes wishes_of(const Config& config) {
  DeviceWishes all;
  all.replicas = devices_of(config);
  all.threads = config.threads;
  all.kv_dtype = config.kv_dtype;
  all.tuning = config.tuning;
  CapacityWishes& wishes = all.capacity;
  wishes.memory_fraction = config.memory_fraction;
  wishes.memory_bytes = config.memory_bytes;
  wishes.rows = config.policy == BatchPolicy::kInstances ? 1 : config.max_rows;
  wishes.pages = config.max_pages;
  wishes.page_tokens = config.page_tokens;
  wishes.context = config.max_context;
  wishes.step_tokens = config.max_step_tokens;
  wishes.must_guess = config.guesses_unasked();
  if (wishes.must_guess || config.speculation_prediction) {
    wishes.guesses = config.speculation_max_tokens;
  }
  wishes.host_bytes = config.cache_enabled ? config.cache_host_bytes : 0;
  if (config.cache_enabled && config.kv_layout == KvLayout::kPages) {
    wishes.files = config.cache_folder;
    wishes.file_bytes = config.cache_folder_bytes;
  }
  wishes.slabs = config.kv_layout == KvLayout::kSlab;
  wishes.rounds_rows = config.rounds_rows;
  if (config.kv_placement == KvPlacement::kHost) {
    const auto free_bytes = static_cast<double>(host_info().free_bytes);
    wishes.kv_host_bytes = static_cast<std::int64_t>(free_bytes * config.memory_fraction);
  }
  return all;
}

}  // namespace

Result<RankWorld> rank_world_of(const Config& config) {
  if (const auto valid = config.validate(); !valid) return valid.error();
  RankWorld world;
  const std::size_t replicas = devices_of(config).size();
  if (!config.partition.empty() || replicas > 1) {
    auto found = rank_world_of(process_environment());
    if (!found) return found.error();
    world = *std::move(found);
  }
  if (replicas > 1 && !world.is_alone()) {
    return Error{DeviceErrc::kUnfit,
                 "replicas: all are of one process, and the launcher has started " +
                     std::to_string(world.size)};
  }
  if (is_auto_partition(config.partition) && !world.is_alone()) {
    return Error{DeviceErrc::kUnfit,
                 "partition: auto is chosen by one process, and the launcher has started " +
                     std::to_string(world.size)};
  }
  if (!world.is_alone()) {
    if (auto taken = take_rank_key(process_environment(), world); !taken) return taken.error();
  }
  world.timeout = std::chrono::ceil<std::chrono::milliseconds>(config.rank_timeout);
  world.tls = {config.rank_tls_certificate, config.rank_tls_key, config.rank_tls_ca};
  if (config.rank_transport != RankTransport::kAuto) {
    world.by_network = config.rank_transport == RankTransport::kNetwork;
  }
  return world;
}

Result<LoadedModel> load_configured_model(const Config& config, const LoadProgress& progress,
                                          std::shared_ptr<MemoryBudget> budget) {
  if (const auto valid = config.validate(); !valid) return valid.error();
  const auto opened = open_model(config.model, config.spec, config.weights, config.adapter);
  if (!opened) return opened.error();
  auto tokenizer = load_tokenizer(config.model);
  if (!tokenizer) return tokenizer.error();
  auto loaded = load_served(*opened, *std::move(tokenizer), config, progress, std::move(budget));
  if (loaded) loaded->model.cache_share = config.cache_share;
  return loaded;
}

Result<LoadedModel> load_served(const OpenedModel& opened, Tokenizer tokenizer,
                                const Config& config, const LoadProgress& progress,
                                std::shared_ptr<MemoryBudget> budget,
                                std::shared_ptr<HostWeightPool> weights) {
  auto vectors = read_vector_model(*opened.architecture, *opened.checkpoint);
  if (!vectors) return vectors.error();
  auto defaults = read_generation_config(config.generation_config, opened.checkpoint->path());
  if (!defaults) return defaults.error();
  std::vector<TokenId> ends = end_tokens(*opened.program, tokenizer);
  for (const TokenId token : defaults->end_tokens) {
    if (token < opened.program->vocabulary) ends.push_back(token);
  }
  ends = sorted_once(std::move(ends));
  auto format = format_of(opened, tokenizer);
  if (!format) return format.error();
  auto world = rank_world_of(config);
  if (!world) return world.error();
  DeviceWishes wishes = wishes_of(config);
  wishes.budget = std::move(budget);
  wishes.weights = std::move(weights);
  wishes.world = *std::move(world);
  if (auto wished = wish_adapters(config, wishes.capacity); !wished) return wished.error();
  if (auto wished = wish_draft(config, opened, tokenizer, wishes); !wished) return wished.error();
  auto placement = settle(opened, wishes);
  if (!placement) return placement.error();
  auto devices = load_step_devices(opened, wishes, ends, progress);
  if (!devices) return devices.error();
  auto adapters = registry_of(opened, config, wishes.replicas, *devices);
  if (!adapters) return adapters.error();
  const DType kv_dtype =
      config.kv_dtype.value_or(kv_dtype_for(wishes.replicas.front(), *opened.program));
  ServedModel model =
      served(*opened.program, std::move(tokenizer), std::move(ends), *devices, kv_dtype);
  model.generates = opened.program->generates();
  set_vectors(*std::move(vectors), model);
  model.vector_facts.mask_fills =
      opened.program->fills_masks() && model.tokenizer.mask() != kNoToken;
  model.defaults = std::move(*defaults);
  model.placement = *std::move(placement);
  model.format = *std::move(format);
  model.facts = facts_of(opened);
  model.adapters = *std::move(adapters);
  model.warnings = warnings_of(*opened.checkpoint);
  if (opened.adapter != nullptr) {
    const std::vector<std::string>& more = opened.adapter->warnings;
    model.warnings.insert(model.warnings.end(), more.begin(), more.end());
  }
  return LoadedModel{std::move(model), std::move(devices->devices)};
}

}  // namespace weft
