#include "weft/tests/text/format/family_outputs.h"

// Outputs in the forms that the families' chat templates print and their documentation describes.

namespace weft::test {
namespace {

const std::string hermes_calls =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 2}}\n"
    "</tool_call>\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";

const std::string function_calls =
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n"
    "<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>\n"
    "<tool_call>\n<function=now>\n</function>\n</tool_call>";

const std::string listed_calls =
    "[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 2}}, "
    "{\"name\": \"now\", \"arguments\": {}}]";

using Pieces = std::vector<std::string>;

/// Returns two calls, and the pieces before them.
Pieces calls_after(Pieces before) {
  before.insert(before.end(), {"call|get_weather", R"(args|{"city": "Zürich", "days": 2})", "end",
                               "call|now", "args|{}", "end"});
  return before;
}

const Pieces thought = {"think|Two days."};
const Pieces spoken = {"text|Let me see."};
const Pieces both = {"think|Two days.", "text|Let me see."};

std::vector<FamilyOutput> qwen() {
  return {
      {"Qwen 2.5", "<tool_call>", "Qwen-Qwen2.5-7B-Instruct", false, "Let me see.\n" + hermes_calls,
       calls_after(spoken)},
      {"Qwen 3", "<tool_call> </think>", "", false,
       "<think>\nTwo days.\n</think>\n\nLet me see.\n" + hermes_calls, calls_after(both)},
      {"Qwen3-Coder", "<tool_call> <function= <parameter=", "Qwen3-Coder", false,
       "Let me see.\n" + function_calls, calls_after(spoken)},
      {"Qwen 3.5, 3.6", "<tool_call> <function= <parameter= </think>", "", true,
       "Two days.\n</think>\n\nLet me see.\n\n" + function_calls, calls_after(both)},
  };
}

std::vector<FamilyOutput> llama_and_mistral() {
  return {
      {"Llama 3.1, 3.2, 3.3", "\"name\": function name \"parameters\": dictionary",
       "meta-llama-Llama-3.2-3B-Instruct", false,
       R"({"name": "get_weather", "parameters": {"city": "Zürich", "days": 2}}; )"
       R"({"name": "now", "parameters": {}})",
       calls_after({})},
      {"Llama 4", "[func_name1(", "", false,
       R"(<|python_start|>[get_weather(city="Zürich", days=2), now()]<|python_end|>)",
       calls_after({})},
      {"Mistral 7B v0.3, Nemo, Large", "[TOOL_CALLS]", "mistralai-Mistral-Nemo-Instruct-2407",
       false, "[TOOL_CALLS]" + listed_calls, calls_after({})},
      {"Mistral Small 3.2, Devstral", "[TOOL_CALLS] [ARGS]", "Mistral-Small-3.2-24B-Instruct-2506",
       false,
       R"(Let me see.[TOOL_CALLS]get_weather[ARGS]{"city": "Zürich", "days": 2})"
       "[TOOL_CALLS]now[CALL_ID]a1b2c3d4e[ARGS]{}",
       calls_after(spoken)},
      {"Magistral, Ministral 3", "[TOOL_CALLS] [ARGS] [THINK]", "", false,
       R"([THINK]Two days.[/THINK]Let me see.[TOOL_CALLS]get_weather[ARGS])"
       R"({"city": "Zürich", "days": 2}[TOOL_CALLS]now[ARGS]{})",
       calls_after(both)},
  };
}

std::vector<FamilyOutput> google_and_openai() {
  return {
      {"Gemma 3", "<start_of_turn>", "", false, "Let me see.", spoken},
      {"Gemma 4", "<|tool_call> <|\"|> <|channel>thought", "google-gemma-4-31B-it-interleaved",
       false,
       "<|channel>thought\nTwo days.\n<channel|>Let me see.<|tool_call>call:get_weather{city:"
       "<|\"|>Zürich<|\"|>,days:2}<tool_call|><|tool_call>call:now{}<tool_call|>",
       calls_after(both)},
      {"FunctionGemma", "<start_function_call> <escape>", "", false,
       "<start_function_call>call:get_weather{city:<escape>Zürich<escape>,days:2}"
       "<end_function_call><start_function_call>call:now{}<end_function_call>",
       calls_after({})},
      {"gpt-oss",
       "<|channel|> <|message|>",
       "openai-gpt-oss-120b",
       false,
       "<|channel|>analysis<|message|>Two days.<|end|><|start|>assistant<|channel|>commentary"
       "<|message|>Let me see.<|end|><|start|>assistant<|channel|>commentary to=functions."
       "get_weather <|constrain|>json<|message|>{\"city\": \"Zürich\", \"days\": 2}<|call|>",
       {"think|Two days.", "text|Let me see.", "call|get_weather",
        R"(args|{"city": "Zürich", "days": 2})", "end"}},
  };
}

std::vector<FamilyOutput> deepseek_and_kimi() {
  const std::string fenced =
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
      "{\"city\": \"Zürich\", \"days\": 2}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function"
      "<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
  const std::string bare =
      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Zürich\", "
      "\"days\": 2}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
      "<｜tool▁calls▁end｜>";
  const auto dsml = [](const std::string& group) {
    return "\n\n<｜DSML｜" + group +
           ">\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" "
           "string=\"true\">Zürich</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" "
           "string=\"false\">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke "
           "name=\"now\">"
           "\n</｜DSML｜invoke>\n</｜DSML｜" +
           group + ">";
  };
  return {
      {"DeepSeek R1, V3", "<｜tool▁call▁begin｜> <｜tool▁sep｜> ```json </think>",
       "deepseek-ai-DeepSeek-R1-Distill-Llama-8B", true,
       "Two days.\n</think>\n\nLet me see." + fenced, calls_after(both)},
      {"DeepSeek V3.1", "<｜tool▁call▁begin｜> <｜tool▁sep｜> </think>",
       "deepseek-ai-DeepSeek-V3.1", true, "Two days.</think>Let me see." + bare, calls_after(both)},
      {"DeepSeek V3.2", "｜DSML｜ function_calls> </think>", "", true,
       "Two days.</think>Let me see." + dsml("function_calls"), calls_after(both)},
      {"DeepSeek V4", "｜DSML｜ tool_calls> </think>", "", true,
       "Two days.</think>Let me see." + dsml("tool_calls"), calls_after(both)},
      {"Kimi K2",
       "<|tool_call_begin|> <|tool_call_argument_begin|> </think>",
       "Kimi-K2-Thinking",
       false,
       "<think>Two days.</think>Let me see.<|tool_calls_section_begin|><|tool_call_begin|>functions"
       ".get_weather:0<|tool_call_argument_begin|>{\"city\": \"Zürich\", \"days\": 2}"
       "<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}"
       "<|tool_call_end|><|tool_calls_section_end|>",
       {"think|Two days.", "text|Let me see.", "id|functions.get_weather:0", "call|get_weather",
        R"(args|{"city": "Zürich", "days": 2})", "end", "id|functions.now:1", "call|now", "args|{}",
        "end"}},
  };
}

std::vector<FamilyOutput> glm_to_hunyuan() {
  const std::string keyed =
      "<arg_key>city</arg_key>\n<arg_value>Zürich</arg_value>\n<arg_key>days</arg_key>\n"
      "<arg_value>2</arg_value>\n</tool_call>";
  const std::string inlined =
      "<arg_key>city</arg_key><arg_value>Zürich</arg_value><arg_key>days</arg_key><arg_value>2"
      "</arg_value></tool_call>";
  return {
      {"GLM 4.5, 4.6", "<tool_call> <arg_key> </think>", "GLM-4.6", false,
       "\n<think>Two days.</think>\nLet me see.\n<tool_call>get_weather\n" + keyed +
           "\n<tool_call>now\n</tool_call>",
       calls_after(both)},
      {"GLM 4.7", "<tool_call> <arg_key> </think>", "", true,
       "Two days.</think>Let me see.<tool_call>get_weather" + inlined +
           "<tool_call>now</tool_call>",
       calls_after(both)},
      {"MiniMax M2", "<minimax:tool_call> </think>", "", true,
       "Two days.\n</think>\n\nLet me see.\n<minimax:tool_call>\n<invoke name=\"get_weather\">\n"
       "<parameter name=\"city\">Zürich</parameter>\n<parameter name=\"days\">2</parameter>\n"
       "</invoke>\n<invoke name=\"now\">\n</invoke>\n</minimax:tool_call>",
       calls_after(both)},
      {"Hunyuan A13B", "<tool_calls> </think> <answer>", "", false,
       "<think>\nTwo days.\n</think>\n<answer>\nLet me see.\n<tool_calls>" + listed_calls +
           "</tool_calls>\n</answer>",
       calls_after(both)},
      {"Hunyuan 3", "<tool_sep> <arg_key> </think>", "", false,
       "<think>Two days.</think>Let me see.<tool_calls>\n<tool_call>get_weather<tool_sep>\n" +
           keyed + "\n<tool_call>now<tool_sep>\n</tool_call>\n</tool_calls>",
       calls_after(both)},
      {"ERNIE 4.5 Thinking", "<tool_call> <think> <response> </think>", "", true,
       "Two days.\n</think>\n\n<response>\nLet me see.\n</response>\n" + hermes_calls,
       calls_after(both)},
  };
}

std::vector<FamilyOutput> phi_to_command() {
  const auto action = [](const std::string& id_0, const std::string& id_1) {
    return "[\n    {" + id_0 +
           "\"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Zürich\", \"days\": 2}},\n"
           "    {" +
           id_1 + "\"tool_name\": \"now\", \"parameters\": {}}\n]";
  };
  return {
      {"Phi-4-mini", "<|tool_call|>", "", false, "<|tool_call|>" + listed_calls + "<|/tool_call|>",
       calls_after({})},
      {"Phi-4 reasoning", "</think>", "", false, "<think>Two days.</think>Let me see.", both},
      {"Granite 3.3", "<|tool_call|> <think> <response> </think>",
       "ibm-granite-granite-3.3-2B-Instruct", false,
       "<think>Two days.</think><response>Let me see.</response><|tool_call|>" + listed_calls,
       calls_after(both)},
      {"Granite 4", "<tool_call>", "ibm-granite-granite-4.1", false, hermes_calls, calls_after({})},
      {"Nemotron Nano v2", "<TOOLCALL> </think>", "NVIDIA-Nemotron-Nano-v2", false,
       "<think>\nTwo days.\n</think>\n\nLet me see.\n<TOOLCALL>" + listed_calls + "</TOOLCALL>",
       calls_after(both)},
      {"Nemotron 3", "<tool_call> <function= <parameter= </think>", "", true,
       "Two days.\n</think>\nLet me see.\n" + function_calls, calls_after(both)},
      {"Hermes 2, 3", "<tool_call>", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use", false,
       "Let me see.\n" + hermes_calls, calls_after(spoken)},
      {"Command R, R+", "Action: ```json tool_name", "CohereForAI-c4ai-command-r-plus-tool_use",
       false, "Let me see.\nAction:\n```json\n" + action("", "") + "\n```", calls_after(spoken)},
      {"Command R7B, Command A", "<|START_ACTION|> <|START_THINKING|>", "", false,
       "<|START_THINKING|>Two days.<|END_THINKING|><|START_ACTION|>" +
           action("\"tool_call_id\": \"0\", ", "\"tool_call_id\": \"1\", ") + "<|END_ACTION|>",
       calls_after(thought)},
  };
}

std::vector<FamilyOutput> seed_to_step() {
  std::string seed = function_calls;
  for (const std::string tag : {"<tool_call>", "</tool_call>"}) {
    std::string own = tag;
    own.insert(tag.find("tool"), "seed:");
    for (std::size_t at = seed.find(tag); at != std::string::npos; at = seed.find(tag, at + 1)) {
      seed.replace(at, tag.size(), own);
    }
  }
  return {
      {"Seed-OSS", "<seed:tool_call> <seed:think>", "", false,
       "<seed:think>\nTwo days.\n</seed:think>\nLet me see.\n" + seed, calls_after(both)},
      {"Apertus", "<|tools_prefix|> <|inner_prefix|>", "Apertus-8B-Instruct", false,
       "<|inner_prefix|>Two days.<|tools_prefix|>[{\"get_weather\": {\"city\": \"Zürich\", "
       "\"days\": 2}}, {\"now\": {}}]<|tools_suffix|>",
       calls_after(thought)},
      {"LFM2, LFM2.5", "List of tools: <|im_start|> </think>", "LFM2.5-8B-A1B", false,
       "<think>Two days.</think>Let me see.<|tool_call_start|>[get_weather(city='Zürich', days=2), "
       "now()]<|tool_call_end|>",
       calls_after(both)},
      {"OLMo 3", "<function_calls> </think>", "", true,
       "Two days.</think>Let me see.<function_calls>get_weather(city=\"Zürich\", days=2)\nnow()"
       "</function_calls>",
       calls_after(both)},
      {"SmolLM3", "<tool_call> </think>", "", false,
       "<think>\nTwo days.\n</think>\nLet me see.\n" + hermes_calls, calls_after(both)},
      {"EXAONE 4", "<tool_call> </think>", "", true, "Two days.\n</think>\n\n" + hermes_calls,
       calls_after(thought)},
      {"Step 3.5, 3.7", "<tool_call> <function= <parameter= </think>", "", true,
       "Two days.\n</think>\nLet me see." + function_calls, calls_after(both)},
      {"Ling 2, Ring 2", "<tool_call> </think>", "", false,
       "<think>\nTwo days.\n</think>\n\nLet me see.\n" + hermes_calls, calls_after(both)},
  };
}

}  // namespace

const std::vector<FamilyOutput>& family_outputs() {
  static const std::vector<FamilyOutput> all = [] {
    std::vector<FamilyOutput> made;
    for (const auto& part : {qwen(), llama_and_mistral(), google_and_openai(), deepseek_and_kimi(),
                             glm_to_hunyuan(), phi_to_command(), seed_to_step()}) {
      made.insert(made.end(), part.begin(), part.end());
    }
    return made;
  }();
  return all;
}

}  // namespace weft::test
