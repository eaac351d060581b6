#include "weft/train/tuning_setup.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weft/core/token.h"
#include "weft/model/checkpoint/checkpoint.h"
#include "weft/train/step/trained_model.h"
#include "weft/train/train_error.h"

namespace weft {
namespace {

Result<Examples> read_examples(const OpenedModel& model, const TuningSetup& setup,
                               std::int64_t tokens, const LoadProgress& progress) {
  const auto tokenizer = load_tokenizer(setup.model);
  if (!tokenizer) return tokenizer.error();
  ExampleReader::Options options;
  options.tokens = static_cast<std::size_t>(tokens);
  options.vocabulary = model.program->vocabulary;
  options.end_tokens.assign(tokenizer->end_tokens().begin(), tokenizer->end_tokens().end());
  for (const std::int64_t id : model.program->end_tokens)
    options.end_tokens.push_back(static_cast<TokenId>(id));
  options.now = setup.now;
  options.stop = progress.stop;
  return ExampleReader(*tokenizer, std::move(options)).read(setup.data);
}

}  // namespace

Result<TrainingProgram> trainable_program(const OpenedModel& model) {
  if (model.checkpoint->format() == CheckpointFormat::kGguf) {
    return Error{TrainErrc::kCannotTrain,
                 "a GGUF file: the adapter that is made is for a model in Hugging Face layout"};
  }
  return make_training_program(*model.architecture, *model.checkpoint);
}

Result<TuningJob> make_tuning_job(const OpenedModel& model, const TuningSetup& setup,
                                  const LoadProgress& progress) {
  auto training = trainable_program(model);
  if (!training) return training.error();
  auto pairs = setup.first_pairs ? setup.first_pairs(*training)
                                 : make_pairs(*training, *model.architecture, setup.pairs);
  if (!pairs) return pairs.error();
  pairs->dropout = setup.dropout;
  const std::int64_t tokens =
      setup.tokens > 0 ? setup.tokens : std::min(kMicroBatchTokens, model.program->context);
  auto examples = read_examples(model, setup, tokens, progress);
  if (!examples) return examples.error();
  BatchPlan plan;
  plan.examples = examples->all.size();
  plan.tokens = static_cast<std::size_t>(tokens);
  plan.seed = setup.seed;
  plan.shuffle = setup.shuffle;
  const auto optimizer = setup.choose_steps(*examples, plan);
  if (!optimizer) return optimizer.error();
  if (auto checked = check_settings(*optimizer); !checked) return checked.error();
  auto trained = TrainedModel::load(model, *std::move(training), *std::move(pairs),
                                    {setup.threads, tokens}, progress);
  if (!trained) return trained.error();
  return TuningJob(*std::move(trained), *std::move(examples), plan, *optimizer, setup.name);
}

}  // namespace weft
