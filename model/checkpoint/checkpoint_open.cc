#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/model/checkpoint/checkpoint_file.h"
#include "weft/model/checkpoint/checkpoint_format.h"
#include "weft/model/checkpoint/checkpoint_index.h"
#include "weft/model/checkpoint/gguf/gguf.h"
#include "weft/model/checkpoint/llama2c.h"
#include "weft/model/checkpoint/pickle/pickle_checkpoint.h"
#include "weft/model/checkpoint/quantized/quantized.h"
#include "weft/model/checkpoint/safetensors.h"
#include "weft/model/model_error.h"
#include "weft/text/json/json_text.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kMaxConfigBytes = 16ULL << 20U;  // real ones have a few KiB
constexpr std::size_t kMaxConfigDepth = 32;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// A shard or the only file of a model.
struct OpenFile {
  CheckpointFormat format = CheckpointFormat::kSafetensors;
  CheckpointFile content;
};

Result<CheckpointFile> read_content(CheckpointFormat format, const SharedSource& file) {
  switch (format) {
    case CheckpointFormat::kSafetensors:
      return read_safetensors(file);
    case CheckpointFormat::kPickle:
      return read_pickle_checkpoint(file);
    case CheckpointFormat::kLlama2C:
      return read_llama2c(file);
    case CheckpointFormat::kGguf:
      break;
  }
  return read_gguf(file);
}

Result<OpenFile> open_file(const fs::path& path) {
  const auto file = open_file_source(path);
  if (!file) return file.error();
  const auto format = format_of(**file);
  if (!format) return format.error();
  auto content = read_content(*format, *file);
  if (!content) return content.error();
  return OpenFile{*format, std::move(*content)};
}

Result<json::value> read_config(const fs::path& path) {
  const auto text = read_text_file(path, kMaxConfigBytes);
  if (!text) return text.error();
  std::string problem;
  auto config = parse_json(*text, kMaxConfigDepth, problem);
  if (!problem.empty()) return Error{ModelErrc::kBadConfig, path.string() + ": " + problem};
  if (!config.is_object()) return Error{ModelErrc::kBadConfig, path.string() + ": is no object"};
  return config;
}

/// Adds another file of the same model to the arguments of make().
void append(OpenFile& model, CheckpointFile&& more) {
  std::ranges::move(more.tensors, std::back_inserter(model.content.tensors));
}

bool is_hugging_face(CheckpointFormat format) {
  return format == CheckpointFormat::kSafetensors || format == CheckpointFormat::kPickle;
}

Result<Checkpoint> finish(OpenFile&& model, const fs::path& path, json::value config) {
  const std::uint64_t stored = bytes_of_all(model.content.tensors);
  if (is_hugging_face(model.format) && config.is_object()) {
    auto weights =
        assemble_quantized(std::move(model.content.tensors), config.as_object(), path.string());
    if (!weights) return weights.error();
    model.content.tensors = std::move(*weights);
  }
  return Checkpoint::make(model.format, path, std::move(config), std::move(model.content.tensors),
                          std::move(model.content.vocabulary), stored);
}

/// Whether every tensor that the index promises is in the shard that it names.
Result<void> check_promises(const CheckpointIndex::Shard& promised, const std::string& index,
                            const CheckpointFile& shard) {
  std::vector<std::string_view> held;
  held.reserve(shard.tensors.size());
  for (const CheckpointTensor& tensor : shard.tensors) held.emplace_back(tensor.name);
  std::ranges::sort(held);
  for (const std::string& tensor : promised.tensors) {
    if (!std::ranges::binary_search(held, std::string_view(tensor)))
      return bad_checkpoint(index, "tensor " + in_quotes(tensor) + " is not in " + promised.file);
  }
  return {};
}

/// Returns the shard that an index names for each tensor.
using Homes = std::unordered_map<std::string_view, std::string_view>;

Homes homes_of(const CheckpointIndex& index) {
  Homes homes;
  for (const CheckpointIndex::Shard& shard : index.shards) {
    for (const std::string& tensor : shard.tensors) homes.emplace(tensor, shard.file);
  }
  return homes;
}

/// Drops the tensors of this shard that the index finds in another shard.
void drop_copies(const Homes& homes, std::string_view file, CheckpointFile& shard) {
  std::erase_if(shard.tensors, [&](const CheckpointTensor& tensor) {
    const auto home = homes.find(tensor.name);
    return home != homes.end() && home->second != file;
  });
}

Result<OpenFile> open_shards(const fs::path& path) {
  const auto index = read_checkpoint_index(path);
  if (!index) return index.error();
  const Homes homes = homes_of(*index);
  std::optional<OpenFile> model;
  for (const CheckpointIndex::Shard& promised : index->shards) {
    auto shard = open_file(path.parent_path() / promised.file);
    if (!shard) return shard.error();
    const auto kept = check_promises(promised, path.string(), shard->content);
    if (!kept) return kept.error();
    drop_copies(homes, promised.file, shard->content);
    if (!model) {
      model = std::move(*shard);
    } else if (model->format != shard->format) {
      return bad_checkpoint(path.string(), "its shards are of several formats");
    } else {
      append(*model, std::move(shard->content));
    }
  }
  return std::move(*model);
}

Result<OpenFile> open_named(const fs::path& path) {
  return path.extension() == ".json" ? open_shards(path) : open_file(path);
}

/// Older files of AutoGPTQ are called gptq_model-4bit-128g.safetensors; a model in shards has an
/// index of such a name.
Result<std::optional<fs::path>> gptq_weights_of(const fs::path& folder) {
  constexpr std::string_view kFile = ".safetensors";
  constexpr std::string_view kIndex = ".safetensors.index.json";
  std::optional<fs::path> only;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with("gptq_model-")) continue;
    if (name.ends_with(kIndex)) return std::optional(entry->path());
    if (!name.ends_with(kFile)) continue;
    if (only)
      return bad_checkpoint(folder.string(),
                            "holds several gptq_model-*.safetensors: name one of them");
    only = entry->path();
  }
  if (error) return Error{FileErrc::kCannotRead, folder.string() + " (" + error.message() + ")"};
  return only;
}

/// Finds weights in Hugging Face's own order: safetensors before pickles, one file before shards.
Result<std::optional<fs::path>> weights_of(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    if (is_there(folder / name)) return std::optional(folder / name);
  }
  return gptq_weights_of(folder);
}

/// Returns the folder's only .gguf file; of a split model, the first shard.
Result<fs::path> only_gguf_of(const fs::path& folder) {
  std::optional<fs::path> only;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() != ".gguf" || is_later_gguf_shard(path)) continue;
    if (only) return bad_checkpoint(folder.string(), "holds several .gguf files: name one of them");
    only = path;
  }
  if (error) {
    return Error{FileErrc::kCannotRead, folder.string() + " (" + error.message() + ")"};
  }
  if (only) return *only;
  return bad_checkpoint(folder.string(),
                        "holds no model.safetensors, no pytorch_model.bin, no "
                        "index of their shards and no .gguf file");
}

/// Appends the other files of a split GGUF model to the first.
Result<void> append_gguf_shards(OpenFile& first, const std::vector<fs::path>& shards) {
  for (std::size_t i = 1; i < shards.size(); ++i) {
    auto shard = open_file(shards[i]);
    if (!shard) return shard.error();
    if (shard->format != CheckpointFormat::kGguf)
      return bad_checkpoint(shards[i].string(), "is no GGUF file");
    const auto own = gguf_shards(shards[i], shard->content.config);
    if (!own) return own.error();
    if (*own != shards)
      return bad_checkpoint(shards[i].string(), "is no shard of " + shards[0].string());
    append(first, std::move(shard->content));
  }
  const auto* total = first.content.config.if_contains("split.tensors.count");
  if (total != nullptr && *total != std::ssize(first.content.tensors))
    return bad_checkpoint(shards[0].string(), "its shards hold " +
                                                  std::to_string(first.content.tensors.size()) +
                                                  " tensors, not split.tensors.count of them");
  return {};
}

Result<Checkpoint> open_gguf(OpenFile&& opened, const fs::path& path) {
  const auto shards = gguf_shards(path, opened.content.config);
  if (!shards) return shards.error();
  OpenFile model = std::move(opened);
  if (shards->size() > 1) {
    if (shards->front() != path) {  // the first holds metadata and vocabulary
      auto first = open_file(shards->front());
      if (!first) return first.error();
      model = std::move(*first);
    }
    if (const auto done = append_gguf_shards(model, *shards); !done) return done.error();
  }
  json::value config = std::move(model.content.config);
  return finish(std::move(model), path, std::move(config));
}

Result<Checkpoint> open_llama2c(OpenFile&& model, const fs::path& path) {
  model.content.vocabulary =
      find_llama2c_tokenizer(path, model.content.config.at("vocab_size").as_int64());
  json::value config = std::move(model.content.config);
  return finish(std::move(model), path, std::move(config));
}

/// Older GPTQ and AWQ models have a file of settings beside config.json: puts them into the config.
Result<void> add_settings_beside(const fs::path& folder, json::object& config) {
  struct Beside {
    const char* file;
    const char* method;
  };
  constexpr std::array kBeside = {Beside{"quantize_config.json", "gptq"},
                                  Beside{"quant_config.json", "awq"}};
  for (const Beside& beside : kBeside) {
    if (config.contains("quantization_config") || !is_there(folder / beside.file)) continue;
    auto settings = read_config(folder / beside.file);
    if (!settings) return settings.error();
    auto& fields = settings->as_object();
    if (!fields.contains("quant_method")) fields["quant_method"] = beside.method;
    config["quantization_config"] = std::move(*settings);
  }
  return {};
}

Result<Checkpoint> open_alone(const fs::path& path) {
  auto model = open_file(path);
  if (!model) return model.error();
  if (model->format == CheckpointFormat::kGguf) return open_gguf(std::move(*model), path);
  if (model->format == CheckpointFormat::kLlama2C) return open_llama2c(std::move(*model), path);
  const fs::path beside = path.parent_path() / "config.json";
  if (!is_there(beside)) return finish(std::move(*model), path, json::object());
  auto config = read_config(beside);
  if (!config) return config.error();
  if (const auto added = add_settings_beside(path.parent_path(), config->as_object()); !added)
    return added.error();
  return finish(std::move(*model), path, std::move(*config));
}

Result<Checkpoint> open_folder(const fs::path& folder) {
  const auto found = weights_of(folder);
  if (!found) return found.error();
  const std::optional<fs::path>& weights = *found;
  if (!weights) {
    const auto only = only_gguf_of(folder);
    return only ? open_alone(*only) : Result<Checkpoint>(only.error());
  }
  auto config = read_config(folder / "config.json");
  if (!config) return config.error();
  if (const auto added = add_settings_beside(folder, config->as_object()); !added)
    return added.error();
  auto model = open_named(*weights);
  if (!model) return model.error();
  if (!is_hugging_face(model->format))
    return bad_checkpoint(weights->string(),
                          "is a " + std::string(to_string(model->format)) + " file");
  return finish(std::move(*model), folder, std::move(*config));
}

}  // namespace

Result<Checkpoint> open_checkpoint(const fs::path& path) {
  if (path.empty()) {
    return bad_checkpoint("model", "no path is given: a folder, a GGUF or a llama2.c file");
  }
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? open_folder(path) : open_alone(path);
}

}  // namespace weft
