#include <algorithm>
#include <boost/json/parse.hpp>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "weft/core/file.h"
#include "weft/model/checkpoint.h"
#include "weft/model/checkpoint_file.h"
#include "weft/model/checkpoint_format.h"
#include "weft/model/checkpoint_index.h"
#include "weft/model/model_error.h"
#include "weft/model/pickle_checkpoint.h"
#include "weft/model/safetensors.h"

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

/// A shard or the only file of a model, with the memory that its tensors point into.
struct OpenFile {
  CheckpointFormat format = CheckpointFormat::kSafetensors;
  CheckpointFile content;
};

Result<CheckpointFile> read_content(CheckpointFormat format, const MappedFile& file) {
  switch (format) {
    case CheckpointFormat::kSafetensors:
      return read_safetensors(file.bytes(), file.path().string());
    case CheckpointFormat::kPickle:
      return read_pickle_checkpoint(file.bytes(), file.path().string());
    case CheckpointFormat::kLlama2C:
    case CheckpointFormat::kGguf:
      break;
  }
  return unsupported_checkpoint(file.path().string(), to_string(format));
}

Result<OpenFile> open_file(const fs::path& path) {
  auto mapped = MappedFile::open(path);
  if (!mapped) return mapped.error();
  const auto file = std::make_shared<const MappedFile>(std::move(*mapped));
  const auto format = format_of(file->bytes(), path.string());
  if (!format) return format.error();
  auto content = read_content(*format, *file);
  if (!content) return content.error();
  content->storage.push_back(file);
  return OpenFile{*format, std::move(*content)};
}

Result<json::value> read_config(const fs::path& path) {
  const auto text = read_text_file(path, kMaxConfigBytes);
  if (!text) return text.error();
  boost::system::error_code error;
  auto config = json::parse(*text, error, {}, {.max_depth = kMaxConfigDepth});
  if (error) return Error{ModelErrc::kBadConfig, path.string() + " (" + error.message() + ")"};
  if (!config.is_object()) return Error{ModelErrc::kBadConfig, path.string() + ": is no object"};
  return config;
}

/// What make() needs, from one file and then from each further one of the same model.
void append(OpenFile& model, CheckpointFile&& more) {
  std::ranges::move(more.tensors, std::back_inserter(model.content.tensors));
  std::ranges::move(more.storage, std::back_inserter(model.content.storage));
}

Result<Checkpoint> finish(OpenFile&& model, const fs::path& path, json::value config) {
  return Checkpoint::make(model.format, path, std::move(config), std::move(model.content.tensors),
                          std::move(model.content.vocabulary), std::move(model.content.storage));
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

Result<OpenFile> open_shards(const fs::path& path) {
  const auto index = read_checkpoint_index(path);
  if (!index) return index.error();
  std::optional<OpenFile> model;
  for (const CheckpointIndex::Shard& promised : index->shards) {
    auto shard = open_file(path.parent_path() / promised.file);
    if (!shard) return shard.error();
    const auto kept = check_promises(promised, path.string(), shard->content);
    if (!kept) return kept.error();
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

/// Hugging Face's own order: safetensors before pickles, one file before shards.
std::optional<fs::path> weights_of(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    if (is_there(folder / name)) return folder / name;
  }
  return std::nullopt;
}

Result<Checkpoint> open_folder(const fs::path& folder) {
  const auto weights = weights_of(folder);
  if (!weights)
    return bad_checkpoint(folder.string(),
                          "holds neither model.safetensors nor pytorch_model.bin, "
                          "nor an index of their shards");
  auto config = read_config(folder / "config.json");
  if (!config) return config.error();
  auto model = open_named(*weights);
  if (!model) return model.error();
  if (model->format != CheckpointFormat::kSafetensors && model->format != CheckpointFormat::kPickle)
    return bad_checkpoint(weights->string(),
                          "is a " + std::string(to_string(model->format)) + " file");
  return finish(std::move(*model), folder, std::move(*config));
}

Result<Checkpoint> open_alone(const fs::path& path) {
  auto model = open_file(path);
  if (!model) return model.error();
  json::value config = std::move(model->content.config);
  const fs::path beside = path.parent_path() / "config.json";
  const bool speaks_for_itself =
      model->format == CheckpointFormat::kGguf || model->format == CheckpointFormat::kLlama2C;
  if (!speaks_for_itself && is_there(beside)) {
    auto read = read_config(beside);
    if (!read) return read.error();
    config = std::move(*read);
  }
  return finish(std::move(*model), path, std::move(config));
}

}  // namespace

Result<Checkpoint> open_checkpoint(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? open_folder(path) : open_alone(path);
}

}  // namespace weft
