#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "weft/cli/commands.h"
#include "weft/cli/fail.h"
#include "weft/cli/model_loading.h"
#include "weft/cli/progress_bar.h"
#include "weft/core/io/file.h"
#include "weft/core/kv_dtype.h"
#include "weft/gpu/cuda/runtime/cuda_info.h"
#include "weft/gpu/cuda/tuning/linear_tuner.h"
#include "weft/gpu/cuda/tuning/phi_tuner.h"
#include "weft/gpu/cuda/tuning/tuning.h"
#include "weft/gpu/load_step_devices.h"
#include "weft/gpu/sequence_runner.h"

namespace weft::cli {
namespace {

constexpr const char* kTuneVerb = "tune";
constexpr double kTerabyte = 1e12;
constexpr double kMicrosecond = 1e-6;
// The number of prompts for the search of phi. Their rows show the typical size of a model's
// scores.
constexpr std::size_t kPrompts = 4;
constexpr std::size_t kPromptTokens = 256;
constexpr std::size_t kMaxPromptBytes = std::size_t{1} << 20U;

struct TuneOptions {
  ModelOptions model;
  std::string output;
  std::string prompt;
  bool no_phi = false;
  std::vector<std::int64_t> tokens = cuda::default_tuning_tokens();
};

std::unique_ptr<cuda::Runtime> open_gpu(const std::string& device) {
  if (device == "cpu") fail(kTuneVerb, "--device cpu: what is measured here is GPUs");
  const auto index = cuda::device_index(device);
  if (!index) fail(kTuneVerb, device_flag_error(index.error(), device));
  return value_or_fail(kTuneVerb, cuda::open_runtime(*index));
}

/// The table in the file, perhaps with products of other models; empty when there is none.
cuda::TuningTable table_to_write(const std::string& file, const std::string& gpu) {
  if (file.empty() || !std::filesystem::exists(file)) return cuda::TuningTable(gpu);
  auto table = value_or_fail(kTuneVerb, cuda::TuningTable::read(file));
  if (table.gpu() != gpu) {
    fail(kTuneVerb,
         "--output " + file + ": is of another GPU, " + table.gpu() + "; this is " + gpu);
  }
  return table;
}

/// Prints "bf16 12288 x 4096  16  flat  104.2 us  0.97 TB/s"; a star marks the fastest way.
void print_product(const cuda::ProductTime& time) {
  const auto& [shape, bytes, ways, fastest] = time;
  std::cout << std::left << std::setw(6) << to_string(shape.dtype) << std::right << std::setw(7)
            << shape.rows << " x " << std::left << std::setw(7) << shape.inputs << std::right
            << std::setw(5) << shape.tokens;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    std::cout << "  " << (i == fastest ? '*' : ' ') << std::left << std::setw(8)
              << cuda::to_string(ways[i].way) << std::right << std::fixed << std::setprecision(1)
              << std::setw(8) << ways[i].seconds / kMicrosecond << " us " << std::setprecision(2)
              << std::setw(5) << static_cast<double>(bytes) / ways[i].seconds / kTerabyte
              << " TB/s";
  }
  std::cout << '\n';
}

void tune_products(const TuneOptions& options, cuda::Runtime& runtime, const Program& program,
                   cuda::TuningTable& table) {
  std::vector<cuda::ProductTime> times;
  {
    ProgressBar bar("measuring", count_line);
    times = value_or_fail(
        kTuneVerb, cuda::time_products(
                       runtime, program, options.tokens,
                       [&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); }));
  }
  std::cout << "weight       rows x inputs tokens   time of each way; * is chosen\n";
  for (const cuda::ProductTime& time : times) {
    print_product(time);
    table.linear().set(time.shape, time.ways[time.fastest].way);
  }
  std::cout << std::flush;
}

std::vector<std::vector<TokenId>> prompts_of(const TuneOptions& options, const Program& program) {
  if (options.prompt.empty()) {
    return cuda::random_prompts(program.vocabulary, kPrompts, kPromptTokens);
  }
  const std::string text =
      value_or_fail(kTuneVerb, read_text_file(options.prompt, kMaxPromptBytes));
  const Tokenizer tokenizer = value_or_fail(kTuneVerb, load_tokenizer(options.model.path));
  std::vector<TokenId> ids;
  value_or_fail(kTuneVerb, tokenizer.encode(text, {true, false}, ids));
  if (ids.empty()) fail(kTuneVerb, "--prompt " + options.prompt + ": has no tokens");
  return {std::move(ids)};
}

/// Returns the reason why phi is not searched; empty when it is.
std::string no_phi(const Program& program, DType kv_dtype) {
  if (program.has_encoder || !program.generates()) return "only decoders have one";
  if (cuda::takes_phi(kv_dtype)) return "";
  return "only keys in bf16 are scaled by one, and these are in " +
         std::string(kv_dtype_name(kv_dtype));
}

void print_search(const cuda::PhiSearch& search) {
  for (const cuda::PhiTrial& trial : search.trials) {
    std::cout << "phi " << std::fixed << std::setprecision(0) << trial.phi << ": "
              << trial.recomputed << " rows computed again\n";
  }
  if (search.phi()) {
    std::cout << "softmax is scaled by phi " << *search.phi() << '\n';
  } else {
    std::cout << "the fewest with phi " << search.best().phi
              << "; softmax is scaled by its running maximum\n";
  }
}

void tune_phi(const TuneOptions& options, const OpenedModel& model, cuda::TuningTable& table) {
  const Program& program = *model.program;
  const std::vector<std::vector<TokenId>> prompts = prompts_of(options, program);
  std::size_t longest = 0;
  for (const auto& prompt : prompts) longest = std::max(longest, prompt.size());
  DeviceOptions wanted = SequenceRunner::options_for(program, static_cast<std::int64_t>(longest));
  wanted.threads = options.model.threads;
  wanted.kv_dtype = options.model.kv_dtype.value_or(kv_dtype_for(options.model.device, program));
  const std::string reason = no_phi(program, wanted.kv_dtype);
  if (!reason.empty()) {
    std::cout << "phi: not sought, " << reason << '\n';
    return;
  }
  std::unique_ptr<cuda::CudaDevice> device;
  {
    ProgressBar bar("loading");
    device = value_or_fail(
        kTuneVerb, cuda::CudaDevice::load(
                       open_gpu(options.model.device), model.checkpoint, model.program, wanted, {},
                       [&bar](std::int64_t done, std::int64_t total) { bar.show(done, total); }));
  }
  const cuda::PhiSearch search =
      value_or_fail(kTuneVerb, cuda::find_phi(*device, table.linear(), prompts));
  print_search(search);
  table.set_phi(cuda::tuned_name(program), search.phi());
}

/// A file that takes another file's place once it is complete.
class Replacement {
 public:
  explicit Replacement(std::string file)
      : file_(std::move(file)), draft_(file_ + ".new"), out_(draft_, std::ios::binary) {
    if (!out_) fail(kTuneVerb, "--output " + file_ + ": " + std::strerror(errno));
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    std::error_code ignored;
    if (!written_) std::filesystem::remove(draft_, ignored);
  }

  void write(const std::string& text) {
    errno = 0;
    out_ << text << std::flush;
    std::error_code error;
    if (out_) {
      std::filesystem::rename(draft_, file_, error);
    } else {
      error = {errno != 0 ? errno : EIO, std::generic_category()};
    }
    written_ = !error;
    if (written_) {
      std::cout << "written to " << file_ << "; device.tuning names it\n";
      return;
    }
    // The result is printed too, so that minutes of measuring are not lost.
    std::cout << '\n' << text << std::flush;
    fail(kTuneVerb, "--output " + file_ + ": " + error.message() + "; the table stands above");
  }

 private:
  std::string file_;
  std::string draft_;
  std::ofstream out_;
  bool written_ = false;
};

void run_tune(const TuneOptions& options) {
  const OpenedModel model = value_or_fail(kTuneVerb, open_asked(options.model));
  const std::unique_ptr<cuda::Runtime> runtime = open_gpu(options.model.device);
  const std::string gpu = runtime->properties().name;
  cuda::TuningTable table = table_to_write(options.output, gpu);
  std::optional<Replacement> output;
  if (!options.output.empty()) output.emplace(options.output);
  std::cout << gpu << ", " << cuda::tuned_name(*model.program) << '\n';
  tune_products(options, *runtime, *model.program, table);
  if (!options.no_phi) tune_phi(options, model, table);
  if (output) {
    output->write(table.print());
  } else {
    std::cout << '\n' << table.print();
  }
}

}  // namespace

void add_tune_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("tune", "Measure which way of computing a model is the fastest on a GPU");
  auto options = std::make_shared<TuneOptions>();
  options->model.device = "cuda:0";
  add_model_options(*command, options->model, true);
  command
      ->add_option("--output", options->output,
                   "The file for the result, for device.tuning; its results of other models stay. "
                   "Default: standard output")
      ->type_name("FILE");
  command
      ->add_option("--tokens", options->tokens,
                   "Numbers of tokens to measure products at, each for all above half of it")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, cuda::kMaxTuningTokens))
      ->capture_default_str();
  command
      ->add_option("--prompt", options->prompt,
                   "A text to seek phi with; default: tokens at random")
      ->type_name("FILE");
  command->add_flag("--no-phi", options->no_phi, "Measure products alone; nothing is loaded");
  command->callback([options] { run_tune(*options); });
}

}  // namespace weft::cli
