#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/error/error.h"

namespace weft {

/// How requests are combined into steps.
enum class BatchPolicy : std::uint8_t {
  /// Weft's own: a request joins at the next tick and leaves when it ends (temporal fusion).
  kFusion,
  /// Dynamic batching: requests wait up to `window` for others and then run as one batch to its
  /// end.
  kWindow,
  /// The waiting requests run as one batch to its end; later requests wait for it.
  kStatic,
  /// One instance of the model for each request; they run side by side.
  kInstances,
};

/// When a request gets pages of the KV cache.
enum class AdmissionMode : std::uint8_t {
  /// A request begins when pages for its longest possible output are free: never preempted for
  /// memory (Orca, section 4.2).
  kReserve,
  /// A request begins when its prompt fits above the watermark; when pages run out, a batch
  /// sequence gives way.
  kOptimistic,
};

/// Where a sequence's keys and values are kept.
enum class KvLayout : std::uint8_t {
  kPages,  ///< anywhere, by page tables
  kSlab,   ///< one contiguous piece a row; the shuffle moves it (Flover, section V.D)
};

/// Which memory the KV cache of a GPU lies in.
enum class KvPlacement : std::uint8_t {
  kDevice,
  kHost,  ///< the host's, page-locked, which the GPU reads over its bus
};

/// The requests that may reuse each other's pages in the KV cache.
enum class CacheShare : std::uint8_t {
  kKey,  ///< requests of one client, by Request::client; unnamed clients are one client
  kAll,  ///< requests of all clients
};

/// How tokens are guessed, which a device then verifies in one step (speculative decoding).
enum class SpeculationKind : std::uint8_t {
  kOff,
  kSuffix,  ///< a text continues as it did after an earlier place with the same newest tokens
};

/// When a device trains beside serving (Engine::async_train).
enum class TrainingKind : std::uint8_t {
  kOff,  ///< never: training is refused
  /// A request waits for the next iteration of training, up to a bound (FineInfer's deferred
  /// continuous batching).
  kDeferral,
  kFill,            ///< training gets the time that steps leave of target_inter_token
  kInferenceFirst,  ///< training runs only while there is no request
  kFinishFirst,     ///< requests wait until the training has ended
};

/// How ranks on the host exchange numbers when they are in different processes.
enum class RankTransport : std::uint8_t {
  kAuto,     ///< through shared memory where all ranks can see it, else over the network
  kMemory,   ///< through memory that all ranks share
  kNetwork,  ///< over TCP
};

/// An adapter that requests can name (Request::adapter).
struct NamedAdapter {
  std::string name{};  ///< as is_adapter_name() (config/adapters_text.h) has it
  std::string path{};  ///< a PEFT folder or a GGUF file

  friend bool operator==(const NamedAdapter&, const NamedAdapter&) = default;
};

/// The configuration of an engine. Plain data with the defaults; load() and validate() check it.
struct Config {
  Config() = default;  // no aggregate: docs/asio-compliance.md says why

  std::string model{};  ///< a folder, a GGUF file or a llama2.c file
  std::string spec{};   ///< a spec file; without: one is looked for
  /// The type that floating-point weights get while they are loaded, as `weft quantize --type`
  /// names it; without: their own.
  std::string weights{};
  /// An adapter that is merged into the weights while they are loaded: a PEFT folder or a GGUF
  /// file; without: none.
  std::string adapter{};
  /// Defaults of requests: "auto" for the defaults of the model's makers, or the folder of a
  /// generation_config.json. Empty: Weft's own defaults.
  std::string generation_config{};
  std::string device = "cpu";  ///< as `weft devices` names it
  std::string partition{};     ///< several devices, and how they share the model; without: one
  /// The number of engines that serve the model, each on `device` or `partition`; or the device of
  /// each, as in "cuda:0; cuda:1".
  std::string replicas = "1";
  /// Silence after which a process of a partition counts as lost.
  std::chrono::microseconds rank_timeout{10'000'000};
  /// PEM files with which processes of a partition encrypt their connections; without files they do
  /// not encrypt. Without an authority each trusts its own certificate alone.
  std::string rank_tls_certificate{};
  std::string rank_tls_key{};
  std::string rank_tls_ca{};
  RankTransport rank_transport = RankTransport::kAuto;
  std::int32_t threads = 0;  ///< threads of the host device; 0: one for each core
  std::string tuning{};      ///< a file of `weft tune`; without: the GPU's built-in table
  /// Whether a GPU rounds rows to FP8 for products with FP8 weights (DeviceLimits::rounds_rows).
  bool rounds_rows = false;

  // Memory; 0 means derived from the device's memory.
  double memory_fraction =
      0.8;  ///< share of the device's free memory for weights, KV cache and buffers
  std::int64_t memory_bytes = 0;  ///< the same limit in bytes, for engines that share a device
  std::int32_t max_rows = 0;      ///< sequences that run at once
  std::int32_t max_pages = 0;     ///< pages of the KV cache
  std::int32_t page_tokens = 16;
  std::int64_t max_context = 0;        ///< most tokens of a sequence; 0: the model's own context
  std::int32_t max_step_tokens = 512;  ///< most tokens of a step
  std::optional<DType> kv_dtype{};     ///< empty: the type that suits device and weights
  KvLayout kv_layout = KvLayout::kPages;
  KvPlacement kv_placement = KvPlacement::kDevice;  ///< used only by GPUs

  /// Whether full pages stay in the KV cache for prompts that begin alike, until their room is
  /// needed. Slabs (kSlab) keep none.
  bool cache_enabled = true;
  CacheShare cache_share = CacheShare::kKey;
  /// Bytes of page-locked host memory, for pages that a GPU has no room for; for each replica.
  std::int64_t cache_host_bytes = 0;
  /// The folder to which unused pages are written; empty: none.
  std::string cache_folder{};
  std::int64_t cache_folder_bytes = std::int64_t{16} << 30;  ///< bytes of all files in the folder

  /// Adapters that requests choose by their names; no two have one name.
  std::vector<NamedAdapter> adapters{};
  /// A folder whose adapters requests name by their places in it; empty: none.
  std::string adapters_folder{};
  /// Whether adapters may be loaded from outside of the folder while the engine runs.
  bool adapters_any_path = false;
  /// Bytes that the folder may have after an upload; 0: nothing is uploaded into it.
  std::int64_t adapters_upload_bytes = 0;
  /// Adapters that steps can use at once; 0: kDefaultAdapterPlaces where there are adapters or a
  /// folder of them or `training_folder`, else none.
  std::int32_t adapter_places = 0;
  static constexpr std::int32_t kDefaultAdapterPlaces = 8;
  /// The greatest rank of an adapter's matrices; 0: of `adapters`, at least kLeastAdapterRank.
  std::int32_t adapter_max_rank = 0;
  static constexpr std::int32_t kLeastAdapterRank = 16;
  /// Bytes of host memory for adapters that no request uses.
  std::int64_t adapters_host_bytes = std::int64_t{4} << 30;

  // Scheduling.
  BatchPolicy policy = BatchPolicy::kFusion;
  std::chrono::milliseconds window{0};  ///< used by kWindow
  std::int32_t instances = 4;           ///< used by kInstances
  AdmissionMode admission = AdmissionMode::kOptimistic;
  double watermark = 0.05;  ///< share of the pages that optimistic admission leaves free
  /// How long a running stream should wait for its next token: prefill chunks are cut so that a
  /// step takes no longer.
  std::chrono::microseconds target_inter_token{50'000};
  std::int32_t decode_every = 1;  ///< running streams advance at least once in this many ticks
  bool jump_ahead = true;         ///< inserts text that a grammar forces in one step

  SpeculationKind speculation = SpeculationKind::kOff;
  /// A draft model that guesses too, as `model` is named; empty: none.
  std::string speculation_model{};
  std::int32_t speculation_max_tokens = 8;  ///< most tokens guessed of a sequence at once
  /// Whether the engine guesses from the output that a request predicts
  /// (SpeculationWish::prediction), also with kOff.
  bool speculation_prediction = false;
  /// Tokens of recent outputs, of each replica, in which kSuffix looks for guesses; 0: none.
  std::int64_t speculation_recent_tokens = 65'536;

  TrainingKind training = TrainingKind::kDeferral;
  /// How long kDeferral lets a request wait for training.
  std::chrono::microseconds training_deferral_bound{2'000'000};
  /// The folder of fine-tuning over HTTP: uploaded files, jobs and their results; empty: none.
  std::string training_folder{};
  std::int64_t training_max_file_bytes = std::int64_t{64} << 20;  ///< of one uploaded file
  std::int64_t training_max_files_bytes = std::int64_t{1} << 30;  ///< of all of them
  std::int32_t training_max_files = 1'000;                        ///< uploaded files
  std::int32_t training_max_jobs = 100;                           ///< jobs, with those that ended
  std::int32_t training_checkpoint_steps = 50;                    ///< steps between two states

  /// Most bytes of a model's compiled grammars, with their states and masks.
  std::int64_t structured_memory_bytes = std::int64_t{256} << 20;

  // Bounds on the requests under way.
  std::int32_t max_queued_requests = 1024;          ///< requests that have not ended
  std::int64_t max_queued_prompt_tokens = 1 << 20;  ///< prompt tokens of all requests that have not
                                                    ///< ended
  std::int32_t preprocess_workers = 2;
  std::int32_t max_prompt_bytes = 8 << 20;

  /// Reads a TOML file with tables named as in docs/configuration.md; a key that it leaves out
  /// keeps its default. The result is valid. The file may be one of `weft serve`: the tables of the
  /// server (server, auth, limits, log) are then checked like the others, and left out. Errors of
  /// core/io/file.h; kBadToml, kUnknownConfigKey and kBadConfig (config/config_error.h), which name
  /// file, line and key.
  [[nodiscard]] static Result<Config> load(const std::filesystem::path& file);
  /// Reads the text of such a file, which errors call `name`.
  [[nodiscard]] static Result<Config> parse(std::string_view toml, std::string_view name);

  /// Whether requests are guessed that do not ask for it.
  [[nodiscard]] bool guesses_unasked() const noexcept {
    return speculation != SpeculationKind::kOff || !speculation_model.empty();
  }

  /// kBadConfig names the key, its value and its range, or the other key that it conflicts with.
  [[nodiscard]] Result<void> validate() const;
};

}  // namespace weft
