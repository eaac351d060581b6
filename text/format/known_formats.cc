#include <utility>

#include "weft/text/format/output_format.h"

// The forms of calls and thoughts by family. Sources: the chat templates that the families publish,
// and for gpt-oss OpenAI's description of the harmony format.

namespace weft {
namespace {

CallSyntax json_calls(std::string open, std::string close) {
  CallSyntax calls;
  calls.body = CallBody::kJson;
  calls.open = std::move(open);
  calls.close = std::move(close);
  return calls;
}

CallSyntax json_calls(std::string open, std::string close, std::string name_key,
                      std::string arguments_key) {
  CallSyntax calls = json_calls(std::move(open), std::move(close));
  calls.name_key = std::move(name_key);
  calls.arguments_key = std::move(arguments_key);
  return calls;
}

CallSyntax in_list(CallSyntax calls) {
  calls.in_list = true;
  return calls;
}

CallSyntax python_calls(std::string open, std::string close) {
  CallSyntax calls = json_calls(std::move(open), std::move(close));
  calls.body = CallBody::kPython;
  return calls;
}

CallSyntax by_line(CallSyntax calls) {
  calls.by_line = true;
  return calls;
}

CallSyntax keyed_calls(std::string open, std::string close) {
  CallSyntax calls = in_list(json_calls(std::move(open), std::move(close)));
  calls.body = CallBody::kKeyed;
  return calls;
}

/// `call:NAME{key:value}`, with texts between two of these quotes.
CallSyntax pair_call(std::string open, std::string close, std::string quote) {
  CallSyntax calls = json_calls(std::move(open), std::move(close));
  calls.body = CallBody::kPairs;
  calls.name_open = "call:";
  calls.value_open = quote;
  calls.value_close = std::move(quote);
  return calls;
}

CallSyntax named_call(std::string open, std::string close, std::string name_close) {
  CallSyntax calls = json_calls(std::move(open), std::move(close));
  calls.body = CallBody::kNamed;
  calls.name_close = std::move(name_close);
  return calls;
}

CallSyntax with_name(CallSyntax calls, std::string open, std::string prefix, std::string suffix) {
  calls.name_open = std::move(open);
  calls.name_prefix = std::move(prefix);
  calls.name_suffix = std::move(suffix);
  return calls;
}

CallSyntax with_ids(CallSyntax calls, std::string before, std::string behind) {
  calls.id_before = std::move(before);
  calls.id_behind = std::move(behind);
  return calls;
}

CallSyntax in_group(CallSyntax calls, std::string open, std::string close) {
  calls.group_open = std::move(open);
  calls.group_close = std::move(close);
  return calls;
}

CallSyntax in_deepseek_group(CallSyntax calls) {
  return in_group(std::move(calls), "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>");
}

CallSyntax kimi_call() {
  CallSyntax calls = with_name(
      named_call("<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>"), {},
      "functions.", ":");
  calls.name_is_id = true;
  return in_group(with_ids(std::move(calls), {}, "[0-9]{1,4}"), "<|tool_calls_section_begin|>",
                  "<|tool_calls_section_end|>");
}

CallSyntax command_calls() {
  CallSyntax calls =
      in_list(json_calls("<|START_ACTION|>", "<|END_ACTION|>", "tool_name", "parameters"));
  calls.id_key = "tool_call_id";
  return calls;
}

/// `<function=NAME>`, `<parameter=KEY>` and similar tags.
CallSyntax tagged_call(std::string open, std::string close, std::string name_open,
                       std::string name_close, std::string key_open, std::string key_close) {
  CallSyntax calls = json_calls(std::move(open), std::move(close));
  calls.body = CallBody::kTagged;
  calls.name_open = std::move(name_open);
  calls.name_close = std::move(name_close);
  calls.key_open = std::move(key_open);
  calls.key_close = std::move(key_close);
  calls.value_close = "</parameter>";
  calls.body_close = "</function>";
  return calls;
}

CallSyntax minimax_call() {
  CallSyntax calls = tagged_call("<minimax:tool_call>", "</minimax:tool_call>", "<invoke name=\"",
                                 "\">", "<parameter name=\"", "\">");
  calls.body_close = "</invoke>";
  calls.inline_values = true;
  return calls;
}

/// DeepSeek's markup, in which each tag has the word DSML.
CallSyntax dsml_call(const std::string& outer) {
  CallSyntax calls = minimax_call();
  calls.open = "<｜DSML｜" + outer + ">";
  calls.close = "</｜DSML｜" + outer + ">";
  calls.name_open = "<｜DSML｜invoke name=\"";
  calls.key_open = "<｜DSML｜parameter name=\"";
  calls.type_mark = "\" string=\"";
  calls.value_close = "</｜DSML｜parameter>";
  calls.body_close = "</｜DSML｜invoke>";
  return calls;
}

CallSyntax glm_call() {
  CallSyntax calls = tagged_call("<tool_call>", {}, {}, "\n", "<arg_key>", "</arg_key>");
  calls.value_open = "<arg_value>";
  calls.value_close = "</arg_value>";
  calls.body_close = "</tool_call>";
  return calls;
}

CallSyntax hunyuan_call() {
  CallSyntax calls = glm_call();
  calls.name_close = "<tool_sep>";
  return in_group(std::move(calls), "<tool_calls>", "</tool_calls>");
}

KnownFormat calls_of(std::string name, CallSyntax calls, std::vector<std::string> evidence,
                     std::string_view families, std::vector<std::string> silent = {}) {
  KnownFormat known;
  known.format.name = std::move(name);
  if (!calls.group_open.empty()) silent.push_back(calls.group_open);
  if (!calls.group_close.empty()) silent.push_back(calls.group_close);
  known.format.calls = std::move(calls);
  known.format.silent = std::move(silent);
  known.evidence = std::move(evidence);
  known.families = families;
  return known;
}

KnownFormat thoughts_of(std::string name, ThoughtSyntax thoughts, std::vector<std::string> evidence,
                        std::string_view families, std::string answer_open = {},
                        std::string answer_close = {}) {
  KnownFormat known = calls_of(std::move(name), {}, std::move(evidence), families);
  known.format.thoughts = std::move(thoughts);
  if (!answer_open.empty()) known.format.silent = {answer_open, std::move(answer_close)};
  known.format.answer_open = std::move(answer_open);
  return known;
}

KnownFormat told_by(KnownFormat known, std::vector<std::string> other_evidence) {
  known.other_evidence = std::move(other_evidence);
  return known;
}

KnownFormat ended_by_call(KnownFormat known) {
  known.format.thoughts.ended_by_call = true;
  return known;
}

KnownFormat harmony() {
  KnownFormat known = calls_of("harmony", {}, {"<|channel|>", "<|message|>"}, "gpt-oss");
  known.format.harmony = true;
  return known;
}

/// More special formats come first, because several formats share a tag.
std::vector<KnownFormat> make_known_calls() {
  std::vector<KnownFormat> table;
  table.push_back(harmony());
  table.push_back(calls_of(
      "qwen3-coder",
      tagged_call("<tool_call>", "</tool_call>", "<function=", ">", "<parameter=", ">"),
      {"<function=", "<parameter=", "<tool_call>"}, "Qwen3-Coder, Qwen3.5, Nemotron 3, Step 3.5"));
  table.push_back(calls_of(
      "seed",
      tagged_call("<seed:tool_call>", "</seed:tool_call>", "<function=", ">", "<parameter=", ">"),
      {"<seed:tool_call>"}, "Seed-OSS"));
  table.push_back(calls_of("minimax", minimax_call(), {"<minimax:tool_call>"}, "MiniMax M2"));
  table.push_back(calls_of("hunyuan", hunyuan_call(), {"<tool_sep>", "<arg_key>"}, "Hunyuan 3"));
  table.push_back(calls_of("glm", glm_call(), {"<tool_call>", "<arg_key>"}, "GLM 4.5, 4.6, 4.7"));
  table.push_back(calls_of("tool-calls", in_list(json_calls("<tool_calls>", "</tool_calls>")),
                           {"<tool_calls>"}, "Apriel 1.5, Hunyuan A13B"));
  table.push_back(
      calls_of("hermes", json_calls("<tool_call>", "</tool_call>"), {"<tool_call>"},
               "Hermes 2 and 3, Qwen 2.5 and 3, Granite 4, MiMo, SmolLM3, EXAONE 4, Ling, "
               "ERNIE 4.5"));
  table.push_back(
      calls_of("mistral-args",
               with_ids(with_name(named_call("[TOOL_CALLS]", {}, "[ARGS]"), {}, {}, "[CALL_ID]"),
                        {}, "[A-Za-z0-9]{1,32}"),
               {"[TOOL_CALLS]", "[ARGS]"}, "Mistral Small 3.2, Magistral, Devstral and newer"));
  table.push_back(calls_of("mistral", in_list(json_calls("[TOOL_CALLS]", {})), {"[TOOL_CALLS]"},
                           "Mistral 7B v0.3, Nemo, Large, Small 3.1"));
  table.push_back(
      calls_of("deepseek-v3",
               in_deepseek_group(with_name(
                   named_call("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "\n```json"),
                   "function<｜tool▁sep｜>", {}, {})),
               {"<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "```json"}, "DeepSeek V3, R1"));
  table.push_back(calls_of("deepseek-v3.1",
                           in_deepseek_group(named_call("<｜tool▁call▁begin｜>",
                                                        "<｜tool▁call▁end｜>", "<｜tool▁sep｜>")),
                           {"<｜tool▁call▁begin｜>", "<｜tool▁sep｜>"}, "DeepSeek V3.1"));
  table.push_back(
      calls_of("deepseek-v4", dsml_call("tool_calls"), {"｜DSML｜", "tool_calls>"}, "DeepSeek V4"));
  table.push_back(
      calls_of("deepseek-v3.2", dsml_call("function_calls"), {"｜DSML｜"}, "DeepSeek V3.2"));
  table.push_back(calls_of("kimi", kimi_call(),
                           {"<|tool_call_begin|>", "<|tool_call_argument_begin|>"}, "Kimi K2"));
  table.push_back(
      calls_of("solar",
               in_group(with_ids(with_name(named_call("<|tool_call:begin|>", "<|tool_call:end|>",
                                                      "<|tool_call:args|>"),
                                           {}, "<|tool_call:name|>", {}),
                                 "[A-Za-z0-9_-]{1,32}", {}),
                        "<|tool_calls|>", {}),
               {"<|tool_call:begin|>", "<|tool_call:args|>"}, "Solar Open"));
  table.push_back(calls_of("granite", in_list(json_calls("<|tool_call|>", "<|/tool_call|>")),
                           {"<|tool_call|>"}, "Granite 3, Phi-4-mini"));
  table.push_back(calls_of("command-a", command_calls(), {"<|START_ACTION|>"},
                           "Command R7B, Command A", {"<|START_RESPONSE|>", "<|END_RESPONSE|>"}));
  table.push_back(calls_of(
      "command-r", in_list(json_calls("Action:\n```json", "```", "tool_name", "parameters")),
      {"Action:", "```json", "tool_name"}, "Command R, Command R+"));
  table.push_back(calls_of("nemotron", in_list(json_calls("<TOOLCALL>", "</TOOLCALL>")),
                           {"<TOOLCALL>"}, "Nemotron Nano v2"));
  table.push_back(told_by(calls_of("lfm2", python_calls("<|tool_call_start|>", "<|tool_call_end|>"),
                                   {"<|tool_call_start|>"}, "LFM2, LFM2.5"),
                          {"List of tools: ", "<|im_start|>"}));
  table.push_back(calls_of("gemma", pair_call("<|tool_call>", "<tool_call|>", "<|\"|>"),
                           {"<|tool_call>", "<|\"|>"}, "Gemma 4"));
  table.push_back(calls_of("function-gemma",
                           pair_call("<start_function_call>", "<end_function_call>", "<escape>"),
                           {"<start_function_call>", "<escape>"}, "FunctionGemma"));
  table.push_back(calls_of("apertus", keyed_calls("<|tools_prefix|>", "<|tools_suffix|>"),
                           {"<|tools_prefix|>"}, "Apertus"));
  table.push_back(calls_of("olmo", by_line(python_calls("<function_calls>", "</function_calls>")),
                           {"<function_calls>"}, "OLMo 3"));
  table.push_back(calls_of("functools", in_list(json_calls("functools", {})), {"functools["},
                           "Firefunction v2, Phi-4-mini"));
  table.push_back(calls_of("llama-json", json_calls({}, {}, "name", "parameters"),
                           {"\"name\": function name", "\"parameters\": dictionary"},
                           "Llama 3.1, 3.2, 3.3", {"<|python_tag|>"}));
  table.push_back(calls_of("llama-python", python_calls({}, {}), {"[func_name1("},
                           "Llama 3.2 (short prompts), Llama 4",
                           {"<|python_start|>", "<|python_end|>"}));
  return table;
}

std::vector<KnownFormat> make_known_thoughts() {
  std::vector<KnownFormat> table;
  table.push_back(thoughts_of("granite-think", {"<think>", "</think>"}, {"<think>", "<response>"},
                              "Granite 3.3, ERNIE 4.5", "<response>", "</response>"));
  table.push_back(thoughts_of("hunyuan-think", {"<think>", "</think>"}, {"</think>", "<answer>"},
                              "Hunyuan A13B", "<answer>", "</answer>"));
  table.push_back(thoughts_of("think", {"<think>", "</think>"}, {"</think>"},
                              "Qwen3, QwQ, DeepSeek R1 and V3.1, GLM 4.5, Kimi K2, SmolLM3, "
                              "Nemotron, MiniMax M2 and most others"));
  table.push_back(thoughts_of("magistral", {"[THINK]", "[/THINK]"}, {"[THINK]"}, "Magistral"));
  table.push_back(thoughts_of("command-think", {"<|START_THINKING|>", "<|END_THINKING|>"},
                              {"<|START_THINKING|>"}, "Command R7B, Command A",
                              "<|START_RESPONSE|>", "<|END_RESPONSE|>"));
  table.push_back(thoughts_of("gemma-think", {"<|channel>thought", "<channel|>"},
                              {"<|channel>thought"}, "Gemma 4"));
  table.push_back(ended_by_call(thoughts_of(
      "apertus-think", {"<|inner_prefix|>", "<|inner_suffix|>"}, {"<|inner_prefix|>"}, "Apertus")));
  table.push_back(
      thoughts_of("seed-think", {"<seed:think>", "</seed:think>"}, {"<seed:think>"}, "Seed-OSS"));
  return table;
}

}  // namespace

std::span<const KnownFormat> known_calls() {
  static const std::vector<KnownFormat> table = make_known_calls();
  return table;
}

std::span<const KnownFormat> known_thoughts() {
  static const std::vector<KnownFormat> table = make_known_thoughts();
  return table;
}

}  // namespace weft
