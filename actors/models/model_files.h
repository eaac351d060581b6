#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/host/host_weight_pool.h"
#include "weft/model/open_model.h"

namespace weft {

/// The files of models that several pipelines of the process have in common: who opens the same
/// files again while a device has them gets the same model, and on the host its weights. Files are
/// the same by device, inode, size and time of change, whatever path leads to them. Thread-safe.
class ModelFiles {
 public:
  /// As open_model().
  [[nodiscard]] Result<OpenedModel> open(const std::string& model, const std::string& spec,
                                         const std::string& weights);
  [[nodiscard]] const std::shared_ptr<HostWeightPool>& weights() const noexcept { return weights_; }

 private:
  /// An OpenedModel that does not keep the model.
  struct Opened {
    OpenedModel rest;  ///< without checkpoint and program
    std::weak_ptr<const Checkpoint> checkpoint;
    std::weak_ptr<const Program> program;
  };

  const std::shared_ptr<HostWeightPool> weights_ = std::make_shared<HostWeightPool>();
  std::mutex mutex_;
  std::map<std::string, Opened> opened_;  // by what identifies the files
};

/// What identifies the files of a model and its spec; "" where they cannot be looked at, or are
/// more than any model has.
[[nodiscard]] std::string identity_of_files(const std::filesystem::path& model,
                                            const std::filesystem::path& spec);

}  // namespace weft
