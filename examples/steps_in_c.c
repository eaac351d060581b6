/* Two conversations at once in C: a loop that the application owns, by libweft_c. Usage: steps_in_c
   MODEL_FOLDER */

#include <stdio.h>
#include <string.h>
#include <weft/c_api/weft_c.h>

enum { kQuestions = 2, kRoom = 512 };

static const char* const kBodies[kQuestions] = {
    "{\"messages\": [{\"role\": \"user\", \"content\": \"What is 12 + 30?\"}], \"temperature\": 0}",
    "{\"prompt\": \"Once upon a time\", \"max_tokens\": 24, \"seed\": 1}",
};

/* Says what was wrong; the text is the library's until it is freed. */
static int fail(const char* what, char* error) {
  fprintf(stderr, "steps_in_c: %s: %s\n", what, error != NULL ? error : "no memory");
  weft_free(error);
  return 1;
}

/* Runs steps until all have ended. The requests' ids are 1 and 2, in the order in which they came.
 */
static int run(weft_stepper* stepper, char texts[kQuestions][kRoom]) {
  char* error = NULL;
  while (!weft_stepper_idle(stepper)) {
    const weft_event* events = NULL;
    size_t count = 0;
    if (weft_stepper_infer(stepper, &events, &count, &error) != WEFT_OK)
      return fail("infer", error);
    for (size_t i = 0; i < count; ++i) {
      char* text = texts[events[i].request - 1];
      if (events[i].kind == WEFT_TEXT) strncat(text, events[i].text, kRoom - strlen(text) - 1);
      if (events[i].kind == WEFT_END) printf("%s (%s)\n", text, events[i].finish);
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  char config[1024];
  char texts[kQuestions][kRoom] = {"", ""};
  weft_stepper* stepper = NULL;
  char* error = NULL;
  int status = 0;
  if (argc != 2) return 2;
  snprintf(config, sizeof config, "[model]\npath = \"%s\"\n", argv[1]);
  if (weft_stepper_create(config, &stepper, &error) != WEFT_OK) return fail("create", error);
  for (int i = 0; i < kQuestions && status == 0; ++i) {
    uint64_t id = 0;
    if (weft_stepper_add(stepper, kBodies[i], &id, &error) != WEFT_OK) status = fail("add", error);
  }
  if (status == 0) status = run(stepper, texts);
  weft_stepper_free(stepper);
  return status;
}
