#include "weft/actors/models/model_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <utility>
#include <vector>

namespace weft {
namespace {

namespace fs = std::filesystem;

// A model of 400 billion weights comes in some hundred files.
constexpr std::size_t kMostFiles = 4096;

bool append_file(const fs::path& file, std::string& identity) {
  struct stat facts{};
  if (::stat(file.c_str(), &facts) != 0) return false;
  for (const long long number :
       {static_cast<long long>(facts.st_dev), static_cast<long long>(facts.st_ino),
        static_cast<long long>(facts.st_size), static_cast<long long>(facts.st_mtim.tv_sec),
        static_cast<long long>(facts.st_mtim.tv_nsec)}) {
    identity.append(std::to_string(number)).append(1, ' ');
  }
  return true;
}

}  // namespace

std::string identity_of_files(const fs::path& model, const fs::path& spec) {
  std::error_code failed;
  std::vector<fs::path> files;
  const bool is_folder = fs::is_directory(model, failed);
  const fs::path folder = is_folder ? model : fs::absolute(model, failed).parent_path();
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    // A model in several files is named by the first of them.
    if (!is_folder && at->path().extension() != model.extension()) continue;
    if (files.size() == kMostFiles) return {};
    files.push_back(at->path());
  }
  if (failed) return {};
  std::ranges::sort(files);
  std::string identity = is_folder ? "" : model.filename().string() + '\n';
  for (const fs::path& file : files) {
    identity.append(file.filename().string()).append(1, '\n');
    if (!append_file(file, identity)) return {};
  }
  if (!spec.empty() && !append_file(spec, identity.append("spec\n"))) return {};
  return identity;
}

Result<OpenedModel> ModelFiles::open(const std::string& model, const std::string& spec,
                                     const std::string& weights, const std::string& adapter) {
  std::string identity = identity_of_files(model, spec);
  if (!identity.empty()) identity.append("weights\n").append(weights);
  if (!identity.empty() && !adapter.empty()) {
    // The files of an adapter in a sub-folder can change without a change of the folder.
    std::error_code failed;
    const bool is_deeper = fs::is_directory(adapter, failed) &&
                           !fs::exists(fs::path(adapter) / "adapter_config.json", failed);
    const std::string own = is_deeper ? std::string() : identity_of_files(adapter, {});
    identity = own.empty() ? std::string() : identity.append("\nadapter\n").append(own);
  }
  const std::scoped_lock lock(mutex_);
  std::erase_if(opened_, [](const auto& one) { return one.second.program.expired(); });
  if (const auto found = opened_.find(identity); found != opened_.end()) {
    OpenedModel again = found->second.rest;
    again.checkpoint = found->second.checkpoint.lock();
    again.program = found->second.program.lock();
    if (again.checkpoint && again.program) return again;
  }
  auto opened = open_model(model, spec, weights, adapter);
  if (!opened || identity.empty()) return opened;
  Opened kept{*opened, opened->checkpoint, opened->program};
  kept.rest.checkpoint = nullptr;
  kept.rest.program = nullptr;
  opened_.insert_or_assign(identity, std::move(kept));
  return opened;
}

}  // namespace weft
