#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

#include "weft/config/keys/setting_kinds.h"
#include "weft/core/kv_dtype.h"

/// The keys of an engine: the tables model, device, memory, cache, adapters, scheduling,
/// speculation, training, structured and edge.
namespace weft::engine_keys {

template <auto kMember>
constexpr Setting text() {
  return setting_kinds::text<&FileConfig::engine, kMember>();
}
template <auto kMember>
constexpr Setting integer(std::int64_t low, std::int64_t high) {
  return setting_kinds::integer<&FileConfig::engine, kMember>(low, high);
}
template <auto kMember>
constexpr Setting number(double low, double high) {
  return setting_kinds::number<&FileConfig::engine, kMember>(low, high);
}
template <auto kMember>
constexpr Setting milliseconds(double low, double high) {
  return setting_kinds::milliseconds<&FileConfig::engine, kMember>(low, high);
}
template <auto kMember>
constexpr Setting seconds(double low, double high) {
  return setting_kinds::seconds<&FileConfig::engine, kMember>(low, high);
}
template <auto kMember>
constexpr Setting flag() {
  return setting_kinds::flag<&FileConfig::engine, kMember>();
}
/// kNames has the names of kValues in the same order.
template <const auto& kNames, const auto& kValues, auto kMember>
constexpr Setting choice() {
  return setting_kinds::choice<kNames, kValues, &FileConfig::engine, kMember>();
}

inline constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

/// The names of a cache's types, and "auto", which is no type.
inline constexpr auto kKvDtypeNames = [] {
  std::array<std::string_view, kKvDTypes.size() + 1> names{"auto"};
  for (std::size_t i = 0; i < kKvDTypes.size(); ++i) names[i + 1] = kKvDTypes[i].name;
  return names;
}();
inline constexpr auto kKvDtypes = [] {
  std::array<std::optional<DType>, kKvDTypes.size() + 1> values{};
  for (std::size_t i = 0; i < kKvDTypes.size(); ++i) values[i + 1] = kKvDTypes[i].dtype;
  return values;
}();
inline constexpr std::array<std::string_view, 2> kKvLayoutNames = {"pages", "slab"};
inline constexpr std::array kKvLayouts = {KvLayout::kPages, KvLayout::kSlab};
inline constexpr std::array<std::string_view, 2> kKvPlacementNames = {"device", "host"};
inline constexpr std::array kKvPlacements = {KvPlacement::kDevice, KvPlacement::kHost};
inline constexpr std::array<std::string_view, 2> kCacheShareNames = {"key", "all"};
inline constexpr std::array kCacheShares = {CacheShare::kKey, CacheShare::kAll};
inline constexpr std::array<std::string_view, 3> kRankTransportNames = {"auto", "memory",
                                                                        "network"};
inline constexpr std::array kRankTransports = {RankTransport::kAuto, RankTransport::kMemory,
                                               RankTransport::kNetwork};
inline constexpr std::array<std::string_view, 2> kAdmissionNames = {"optimistic", "reserve"};
inline constexpr std::array kAdmissionModes = {AdmissionMode::kOptimistic, AdmissionMode::kReserve};
inline constexpr std::array<std::string_view, 2> kSpeculationNames = {"off", "suffix"};
inline constexpr std::array kSpeculationKinds = {SpeculationKind::kOff, SpeculationKind::kSuffix};

inline constexpr std::array<std::string_view, 5> kTrainingNames = {
    "off", "deferral", "fill", "inference-first", "finish-first"};
inline constexpr std::array kTrainingKinds = {TrainingKind::kOff, TrainingKind::kDeferral,
                                              TrainingKind::kFill, TrainingKind::kInferenceFirst,
                                              TrainingKind::kFinishFirst};

inline constexpr std::array kKeys = {
    ConfigKey{"model", "path", text<&Config::model>(),
              "The model: a folder, a GGUF file or a llama2.c file", "There is none that all want",
              "model"},
    ConfigKey{"model", "spec", text<&Config::spec>(),
              "The spec to read the model with; empty: looked for",
              "The model's own, or the built-in one that claims it"},
    ConfigKey{"model", "weights", text<&Config::weights>(),
              "Type that floating-point weights get while they are loaded, as weft quantize --type "
              "names it: q4_k_m, q8_0, ...; empty: the type that they have in the file",
              "A smaller type changes what the model says"},
    ConfigKey{
        "model", "adapter", text<&Config::adapter>(),
        "An adapter that is merged into the weights while they are loaded: a PEFT folder or a "
        "GGUF file; empty: none. The flag as NAME=PATH, as often as there are some, adds to "
        "adapters.named instead",
        "An adapter changes what the model says"},
    ConfigKey{"model", "generation_config", text<&Config::generation_config>(),
              "generation_config.json whose values requests have that do not say theirs: auto for "
              "the model's own, or the folder that it is in; empty: none",
              "A request means the same with every model", "generation-config"},

    ConfigKey{"device", "name", text<&Config::device>(),
              "Where the model runs, as weft devices names it",
              "The host is the device that is always there", "device"},
    ConfigKey{"device", "partition", text<&Config::partition>(),
              "Several devices for one model: commas between those that share layers, bars between "
              "stages; auto: chosen by memory and rates; empty: device.name alone",
              "One device is enough for most models, and nothing is exchanged", "partition"},
    ConfigKey{
        "device", "replicas", ReplicasSetting{},
        "Engines that serve the model side by side, each request on the one with the least to "
        "do: so many on device.name or device.partition, or where each runs: cuda:0; cuda:1",
        "One engine fills one device"},
    ConfigKey{"device", "rank_timeout_s", seconds<&Config::rank_timeout>(0.1, 3'600),
              "Seconds of silence after which a process of a partition counts as lost",
              "Longer than a machine stalls, shorter than people wait"},
    ConfigKey{"device", "rank_tls_certificate", text<&Config::rank_tls_certificate>(),
              "PEM file with the chain that a process of a partition shows the others, which then "
              "encrypt all they say; empty: nothing is encrypted",
              "On one machine no other machine can listen"},
    ConfigKey{"device", "rank_tls_key", text<&Config::rank_tls_key>(),
              "PEM file with its private key", "It goes with the certificate"},
    ConfigKey{"device", "rank_tls_ca", text<&Config::rank_tls_ca>(),
              "PEM file with the authorities that the others' certificates must be of; empty: all "
              "have the same certificate",
              "One certificate that all processes share needs no authority"},
    ConfigKey{"device", "rank_transport",
              choice<kRankTransportNames, kRankTransports, &Config::rank_transport>(),
              "How processes of a partition that are on the host exchange numbers. auto: through "
              "memory where all see the same, else over the network",
              "Memory is the fastest, and only one machine has it"},
    ConfigKey{
        "device", "threads", integer<&Config::threads>(0, 1024),
        "Threads of the host device, or that load a GPU's weights; 0: one for each core, or for "
        "four beside other models on the GPU",
        "A step waits for memory on all of them"},
    ConfigKey{"device", "tuning", text<&Config::tuning>(),
              "File that weft tune has written for this GPU; empty: the built-in measurements, if "
              "there are any",
              "Measurements for the GPUs that Weft was made for are built in"},
    ConfigKey{"device", "rounds_rows", flag<&Config::rounds_rows>(),
              "Round what FP8 weights are multiplied by to FP8 as well, 128 numbers under a scale, "
              "in products of 17 to 4096 rows on GPUs of compute capability 9.0",
              "It is faster with many rows, and changes answers"},

    ConfigKey{"memory", "fraction", number<&Config::memory_fraction>(0.01, 1),
              "Share of the device's free memory that weights, KV cache and buffers may take",
              "The fifth that is left is for the text of requests and for others on the machine",
              "memory-fraction"},
    ConfigKey{"memory", "bytes", integer<&Config::memory_bytes>(0, std::int64_t{1} << 50),
              "The same as memory.fraction, in bytes, at most what is free; 0: by fraction",
              "For several engines on one device: the first would take its fraction of all of it, "
              "the second a fraction of the rest"},
    ConfigKey{"memory", "max_rows", integer<&Config::max_rows>(0, 65'536),
              "Sequences that run at once, at most memory.max_step_tokens times "
              "scheduling.decode_every; 0: derived",
              "As many as memory and a step have room for"},
    ConfigKey{"memory", "max_pages", integer<&Config::max_pages>(0, kInt32Max),
              "Pages of the KV cache; 0: derived",
              "As many as fit into the memory that memory.fraction allows"},
    ConfigKey{"memory", "page_tokens", integer<&Config::page_tokens>(1, 4'096),
              "Tokens of a page of the KV cache",
              "1 wastes nothing and has the longest page tables; at 16 a sequence leaves at most "
              "15 positions unused, and its table is a 16th as long"},
    ConfigKey{"memory", "max_context", integer<&Config::max_context>(0, kInt32Max),
              "Tokens of a sequence, prompt included; 0: what the model knows",
              "Beyond that its words make no sense"},
    ConfigKey{"memory", "max_step_tokens", integer<&Config::max_step_tokens>(1, 1'048'576),
              "Tokens of a step; the buffers of a step are made for so many",
              "Some hundred keep a device's arithmetic busy: more would make running streams wait "
              "longer and prompts be done hardly sooner"},
    ConfigKey{
        "memory", "kv_dtype", choice<kKvDtypeNames, kKvDtypes, &Config::kv_dtype>(),
        "The numbers that keys and values are kept as. int8 and fp8 (E4M3) keep a scale for each "
        "token and KV head beside them",
        "auto is f32 on the host, what the reference numbers are compared in, and on a GPU the "
        "weights' type where that has 16 bits: half the memory, at twice the speed"},
    ConfigKey{"memory", "kv_layout", choice<kKvLayoutNames, kKvLayouts, &Config::kv_layout>(),
              "Where keys and values lie: anywhere, by page tables, or one contiguous piece a row, "
              "for all of its context: so many rows run as have one",
              "With pages the shuffle moves none of them"},
    ConfigKey{
        "memory", "kv_placement", choice<kKvPlacementNames, kKvPlacements, &Config::kv_placement>(),
        "Where the KV cache of a GPU lies: in its memory, or in page-locked host memory that it "
        "reads over its bus. There memory.fraction counts of the host's free memory for the KV "
        "cache, in equal parts for all GPUs of the model, and of a GPU's for the rest, of which "
        "memory.bytes is as well; of the device cpu both are the same",
        "A step reads the keys and values of all that it continues, and a bus is some 50 times "
        "slower than a GPU's memory"},

    ConfigKey{"cache", "enabled", flag<&Config::cache_enabled>(),
              "Keep what was computed in the KV cache, until its room is needed, for prompts that "
              "begin alike; nothing with memory.kv_layout slab",
              "A conversation's next turn begins with all that came before", "prefix-cache"},
    ConfigKey{"cache", "share", choice<kCacheShareNames, kCacheShares, &Config::cache_share>(),
              "Whose cached prompts a request may use: those of requests with the same key, or of "
              "all requests. Without keys both are the same",
              "Otherwise the time to the first token would reveal other clients' prompts",
              "cache-share"},
    ConfigKey{"cache", "host_bytes", integer<&Config::cache_host_bytes>(0, std::int64_t{1} << 50),
              "Bytes of page-locked host memory of each replica, for pages that a GPU has no room "
              "to keep; they are copied back when needed. Needs one GPU a replica and "
              "memory.kv_layout pages; 0: none",
              "Other programs of the machine cannot use page-locked memory"},
    ConfigKey{
        "cache", "folder", text<&Config::cache_folder>(),
        "A folder of this model's own, made where it is missing, for pages of the KV cache that no "
        "request has any more: found there also after a restart, on the same kind of device; one "
        "device, one replica, with memory.kv_layout pages; empty: none",
        "Prompts can be guessed from its files, so only the server's operator should read it"},
    ConfigKey{"cache", "folder_bytes",
              integer<&Config::cache_folder_bytes>(std::int64_t{1} << 20, std::int64_t{1} << 50),
              "Bytes of all files in cache.folder; the one used longest ago goes first",
              "A disk is seldom the cache's alone"},

    ConfigKey{"adapters", "named", AdaptersSetting{},
              "Adapters that requests choose by name, read when the model is loaded",
              "Each is somebody's own", "adapters"},
    ConfigKey{
        "adapters", "folder", text<&Config::adapters_folder>(),
        "A folder of adapters, each of which is read when a request first names it; empty: none",
        "Clients name places in the folder, and no paths", "adapters-folder"},
    ConfigKey{"adapters", "any_path", flag<&Config::adapters_any_path>(),
              "Whether admins may load adapters from outside of adapters.folder while the server "
              "runs",
              "The server would read any file that it may read", "adapters-any-path"},
    ConfigKey{"adapters", "upload_bytes",
              integer<&Config::adapters_upload_bytes>(0, std::int64_t{1} << 50),
              "Bytes that adapters.folder may have after an admin has uploaded an adapter; 0: "
              "uploads and removals of files are refused. An upload is a request's body, so "
              "limits.max_body_bytes and limits.max_body_memory bound it too",
              "The folder is the operator's until clients are allowed to write to it",
              "adapters-upload-bytes"},
    ConfigKey{"adapters", "places", integer<&Config::adapter_places>(0, 4'096),
              "Adapters that steps can use at once; 0: 8 if adapters, a folder of adapters or "
              "training.folder are configured, else none. Requests for further adapters wait, and "
              "the least recently used one makes room",
              "Each place takes memory of a GPU, beside the KV cache", "adapter-places"},
    ConfigKey{"adapters", "max_rank", integer<&Config::adapter_max_rank>(0, 4'096),
              "The greatest rank of an adapter; 0: that of adapters.named, at least 16 and at most "
              "256; a greater rank must be set here",
              "All places have one size", "adapter-max-rank"},
    ConfigKey{
        "adapters", "host_bytes", integer<&Config::adapters_host_bytes>(0, std::int64_t{1} << 50),
        "Bytes of host memory for adapters. The least recently used one leaves, and is read again "
        "when a request names it; while requests use all of it, requests for further "
        "adapters are refused, but adapters.places adapters can always be used",
        "Some fifty of a large model, or thousands of a small one", "adapters-host-bytes"},

    ConfigKey{"scheduling", "policy", PolicySetting{1, 60'000},
              "How requests come together. \"fusion\": each joins at the next tick; \"static\": "
              "those that are there run as a batch to its end; \"instances\": each on an instance "
              "of its own; \"window:500\": those that come within 500 ms run as a batch",
              "It lets none wait for others; the rest are baselines for experiments"},
    ConfigKey{"scheduling", "instances", integer<&Config::instances>(1, 1'024),
              "Instances of the policy of that name, each with its own buffers",
              "A few show what sharing a device costs"},
    ConfigKey{"scheduling", "admission",
              choice<kAdmissionNames, kAdmissionModes, &Config::admission>(),
              "Which requests may begin: all that fit above the watermark, or only those that fit "
              "with their longest output",
              "Outputs end sooner than they may, so reserved pages mostly lie idle"},
    ConfigKey{"scheduling", "watermark", number<&Config::watermark>(0, 0.9),
              "Share of the pages that optimistic admission leaves free",
              "Room for running sequences to grow for some ticks before one must give way"},
    ConfigKey{"scheduling", "target_inter_token_ms",
              milliseconds<&Config::target_inter_token>(0.1, 60'000),
              "Milliseconds that a running stream should wait for its next token; prefill is cut "
              "into chunks that keep to it, of 16 tokens at least",
              "20 tokens a second are faster than people read"},
    ConfigKey{"scheduling", "decode_every", integer<&Config::decode_every>(1, 1'000),
              "Running streams advance at least every so many ticks",
              "With 1 no stream ever pauses for the prompt of another"},
    ConfigKey{"scheduling", "jump_ahead", flag<&Config::jump_ahead>(),
              "Insert text that a schema or a grammar forces in one step, with the tokens of the "
              "model's tokenizer; otherwise the model writes it, a token a step",
              "The model has no choice there"},

    ConfigKey{
        "speculation", "kind", choice<kSpeculationNames, kSpeculationKinds, &Config::speculation>(),
        "How tokens are guessed, which one step then verifies together. suffix: guesses that "
        "a text continues as it did after an earlier occurrence of its newest tokens. "
        "Outputs stay the same, on a GPU up to its rounding, which depends on how many tokens "
        "a step has. Not for a model that is cut, nor for requests with beams or a logit "
        "processor, with a grammar while scheduling.jump_ahead is on, or whose activations "
        "are read; on a GPU not with penalties or structured output either",
        "A wrong guess costs time where a step is busy computing", "speculation"},
    ConfigKey{
        "speculation", "model", text<&Config::speculation_model>(),
        "A draft model that guesses tokens, on the device cpu beside the model: a folder, a GGUF "
        "file or a llama2.c file with the model's vocabulary; empty: none. With the kind suffix, a "
        "look-up with a long match guesses in its place. A draft model takes the memory of its "
        "weights, and a page of its KV cache for each page of the model's KV cache. Not for a "
        "model that is cut or on a GPU, nor for several models",
        "A draft model pays only if it has at most a tenth of the model's size, and few models "
        "have such a draft model",
        "speculation-model"},
    ConfigKey{"speculation", "max_tokens", integer<&Config::speculation_max_tokens>(1, 64),
              "Tokens that are guessed of a sequence at once",
              "Nine tokens of one sequence take a host hardly longer than one, as it reads the "
              "weights once",
              "speculation-max-tokens"},
    ConfigKey{"speculation", "prediction", flag<&Config::speculation_prediction>(),
              "Guess from the output that a request predicts (OpenAI's prediction). With the kind "
              "off, only such requests are guessed. A model that is cut guesses nothing. Devices "
              "take memory for max_tokens guesses of each row, in a step of memory.step_tokens "
              "tokens",
              "It takes memory of the device even if no request predicts anything",
              "speculation-prediction"},
    ConfigKey{"speculation", "recent_tokens",
              integer<&Config::speculation_recent_tokens>(0, std::int64_t{1} << 30),
              "With the kind suffix: tokens of recent outputs that a replica keeps to guess from, "
              "for requests that may use each other's cached prompts (cache.enabled, cache.share); "
              "0: none. Of each client the last 8 outputs are kept, and of each output 4096 tokens",
              "It takes some 4 MB of memory, and a repeated output gets several tokens a step",
              "speculation-recent-tokens"},

    ConfigKey{
        "training", "policy", choice<kTrainingNames, kTrainingKinds, &Config::training>(),
        "When a device trains while it serves. deferral: requests wait for the next iteration of "
        "training, but not longer than deferral_bound_s; fill: training gets the time that steps "
        "leave of target_inter_token_ms; inference-first: only while there is no "
        "request; finish-first: requests wait until the training has ended; off: never",
        "It bounds the wait of a request, and training still comes to its end", "training-policy"},
    ConfigKey{"training", "deferral_bound_s", seconds<&Config::training_deferral_bound>(0, 3'600),
              "The most seconds that a request waits for training, with the policy deferral",
              "People accept such a wait for the first word of an answer"},
    ConfigKey{
        "training", "folder", text<&Config::training_folder>(),
        "A folder for fine-tuning over HTTP, for this server alone; made if it does not exist. It "
        "keeps uploaded files, jobs and their adapters, which are served again after a restart. "
        "Only a server of one model trains; empty: files and jobs are refused",
        "It contains clients' data, so only the server's operator should read it",
        "training-folder"},
    ConfigKey{"training", "max_file_bytes",
              integer<&Config::training_max_file_bytes>(1, std::int64_t{1} << 32),
              "Bytes of an uploaded file. An upload is a request's body, so limits.max_body_bytes "
              "and limits.max_body_memory bound it too",
              "Tens of thousands of conversations", "training-max-file-bytes"},
    ConfigKey{
        "training", "max_files_bytes",
        integer<&Config::training_max_files_bytes>(1, std::int64_t{1} << 50),
        "Bytes of all files in training.folder, deleted ones that a job still needs included; "
        "beyond them uploads are refused. A key may have half of what other keys leave",
        "The disk usually has other users", "training-max-files-bytes"},
    ConfigKey{"training", "max_files", integer<&Config::training_max_files>(1, 100'000),
              "Files in training.folder; beyond them uploads are refused. A key may have half of "
              "what other keys leave",
              "Several for each job", "training-max-files"},
    ConfigKey{
        "training", "max_jobs", integer<&Config::training_max_jobs>(1, 10'000),
        "Jobs in training.folder, ended ones included. A key may have half of what other keys "
        "leave. Beyond that its new job replaces its oldest job that ended without a model; if "
        "there is none, the new job is refused",
        "Each may have an adapter, which is in memory or read on use", "training-max-jobs"},
    ConfigKey{"training", "checkpoint_steps",
              integer<&Config::training_checkpoint_steps>(1, 1'000'000),
              "Steps of a job between two states that are written to the disk",
              "A process that is killed loses at most so many", "training-checkpoint-steps"},

    ConfigKey{
        "structured", "memory_bytes",
        integer<&Config::structured_memory_bytes>(std::int64_t{1} << 20, std::int64_t{1} << 40),
        "Bytes of all compiled schemas and grammars of a model, with their states and masks. "
        "Beyond, unused schemas are dropped, the longest unused first; if schemas in use still "
        "exceed it, new structured outputs are refused",
        "Enough for hundreds of JSON schemas, or for 16 patterns over a large vocabulary",
        "structured_memory_bytes"},

    ConfigKey{
        "edge", "max_queued_requests", integer<&Config::max_queued_requests>(1, 1'048'576),
        "Requests that have not ended",
        "Several times the rows of a large device: later requests would wait for many others"},
    ConfigKey{"edge", "max_queued_prompt_tokens",
              integer<&Config::max_queued_prompt_tokens>(1, std::int64_t{1} << 40),
              "Tokens of the prompts of those requests",
              "A thousand for each, and 4 MiB of memory"},
    ConfigKey{
        "edge", "preprocess_workers", integer<&Config::preprocess_workers>(1, 256),
        "Threads of each model that make tokens of text",
        "Half as many more, rounded up, do so for large requests alone, and let others go first "
        "where processors are short: small prompts do not wait for large ones, and the model keeps "
        "its processors. Large are requests of 64 KiB or 256 messages, of a quarter of that where "
        "old messages may be dropped, and lists of prompts that have 64 KiB together"},
    ConfigKey{"edge", "max_prompt_bytes", integer<&Config::max_prompt_bytes>(1, 256 << 20),
              "Bytes of one prompt's text", "More tokens than any context holds"},
};

}  // namespace weft::engine_keys
