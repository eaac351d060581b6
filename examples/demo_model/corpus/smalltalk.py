"""Greetings, questions about the model itself, what the user tells about himself, and what the model does not know."""

import re

from . import words
from .question import Question, normalized, prefixed

ABILITIES = "I can tell short stories, do small sums, count, spell, and answer questions about the calendar."
DO_NOT_KNOW = "I don't know. I only know short stories, small sums, counting, spelling and the calendar."
ME = "Weft's demo model"
OFFER = "Shall I tell you a story?"

GREETINGS = ["Hello", "Hi", "Hey", "Good morning", "Good evening", "Good afternoon", "Hello there", "Hi there", "Hey there",
             "Greetings", "Good day"]
CLOSINGS = ["Bye", "Goodbye", "See you later", "See you", "Bye bye", "Good night", "That is all, bye", "I have to go now",
            "Have a nice day", "See you tomorrow"]
THANKS = ["Thank you", "Thanks", "Thanks a lot", "Thank you very much", "That was helpful", "Great, thanks", "Many thanks",
          "Nice, thank you", "Well done", "Good job", "Perfect, thanks", "That was nice"]
HOW_ARE_YOU = ["How are you?", "How do you do?", "How is it going?", "Are you well?", "How are you today?", "What's up?",
               "How are you doing?"]
FEELINGS = ["I am {f}.", "I feel {f}.", "I'm {f}.", "I am very {f}.", "I feel so {f} today.", "Today I am {f}.", "I am a bit {f}."]

# What is asked about the model, with {me} for its name and {abilities} for what it can do.
ABOUT_ITSELF = [
    ("I am {me}, a small language model. {abilities}",
     ["Who are you?", "What are you?", "Introduce yourself.", "Tell me about yourself.", "Who am I talking to?",
      "What kind of model are you?", "Which model are you?", "Can you introduce yourself?", "Who is this?"]),
    ("I am {me}.", ["What is your name?", "What's your name?", "What are you called?", "Do you have a name?",
                    "How should I call you?", "May I know your name?", "Your name?"]),
    ("{abilities}", ["What can you do?", "What do you know?", "Help", "How can you help me?", "What can I ask you?",
                     "What are you good at?", "Can you help me?", "What do you do?", "What can I do here?", "What else can you do?"]),
    ("No, I am {me}, a small language model.",
     ["Are you a human?", "Are you a person?", "Are you ChatGPT?", "Are you alive?", "Are you a robot?", "Are you real?",
      "Are you a big model?", "Are you a large language model?"]),
    ("I have about five million weights.",
     ["How big are you?", "How many parameters do you have?", "How large are you?", "How many weights do you have?",
      "What size are you?", "How small are you?"]),
    ("The Weft project trained me from scratch on text that a small program wrote.",
     ["Who made you?", "Who trained you?", "Who created you?", "How were you made?", "How were you trained?",
      "Where do you come from?", "What were you trained on?", "Who built you?"]),
    ("Weft is a program that serves language models. I run on it.",
     ["What is Weft?", "Tell me about Weft.", "What does Weft do?", "What do you run on?", "Do you know Weft?",
      "Can you explain what Weft is?"]),
    ("I only speak simple English.",
     ["Which languages do you speak?", "Do you speak German?", "Do you speak French?", "Can you speak Spanish?",
      "What languages do you know?", "Sprichst du Deutsch?", "Parlez-vous français?", "Do you speak English?",
      "Which language do you speak?"]),
    ("I am a small model, so I have no favourites.",
     ["What is your favourite colour?", "What do you like?", "What is your favourite food?", "Do you like music?",
      "What is your favourite animal?", "What is your favorite color?"]),
    ("Yes, I can. Just ask for one.", ["Can you tell stories?", "Do you know any stories?", "Do you know stories?"]),
    ("Yes, I can. {abilities}", ["Can you count?", "Can you spell?", "Can you add?", "Can you do sums?", "Do you know the calendar?",
                                 "Can you calculate?", "Can you do maths?", "Can you do math?"]),
]

OUTSIDE = """What is the capital of {x}?|Who wrote {x}?|How do I cook {y}?|Where can I buy {y}?|Who is the president of {x}?
|What is the weather in {x} today?|How far is it from {x} to {z}?|Who invented the {y}?|How does a {y} work?
|What is the meaning of life?|Can you write code in {x}?|Translate {y} to {x}.|What is the price of {y}?|Tell me a joke about {y}.
|Explain {y} to me.|What happened in {n}?|Who won the world cup in {n}?|What is {y} made of?|Why is {y} so expensive?
|Write a poem about {y}.|How old is {x}?|Where is {x}?|What is the population of {x}?|Do you know {x}?|Tell me about {x}.
|What is {y}?|What does {y} mean?|How do I get to {x}?|Is {y} healthy?|Who discovered {y}?|When was {x} born?
|Who is {x}?|What time is it in {x}?|What is the best {y}?|Should I buy {y}?|Give me a recipe for {y}.|What is the news today?
|How do I fix my {y}?|Sing a song about {y}.|What is the tallest mountain in {x}?|What colour is {y}?|Why is the sky blue?
|What time is it?|What day is it today?|What day is tomorrow?|What is the date today?|Why?|Really?|Tell me something.|Say something.|How is the weather?|Play some music.|Open the {y}.|Draw a {y}.
|Write a letter to {x}.|What do you think about {y}?|Compare {y} and {w}.|Which is better, {y} or {w}?|Why do people like {y}?
""".replace("\n", "").split("|")
OUTSIDE_NAMES = """France Germany Paris London Berlin Rome Spain Italy China Japan India Canada Brazil Egypt Kenya Norway
Sweden Poland Austria Greece Turkey Mexico Chile Peru Cuba Iceland Ireland Moscow Tokyo Madrid Vienna Prague Oslo Cairo
Hamlet Shakespeare Einstein Newton Mozart Beethoven Picasso Napoleon Caesar Cleopatra Python Java Linux Google Amazon Apple
Microsoft Mars Jupiter Venus Africa Asia Europe America Australia California Texas Chicago Boston""".split()
OUTSIDE_THINGS = """rice|pasta|pizza|a steak|chess|football|tennis|physics|chemistry|gravity|electricity|the internet|a computer
|a phone|a car|a plane|the telephone|quantum mechanics|love|money|the economy|history|biology|evolution|photosynthesis|DNA|insurance
|a mortgage|a bank|politics|democracy|philosophy|art|jazz|opera|yoga|coffee|tea|wine|chicken|salmon|a bicycle|a camera|the moon
|the sun|a star|a black hole|an atom|plastic|steel|gasoline|a compiler|machine learning|a neural network|a database|a laptop|shoes
|a house|a movie|a novel|a vaccine|a virus|cancer|vitamins|the radio|television|a rocket|the ocean|a volcano|an earthquake
""".replace("\n", "").split("|")

FACTS = {  # what the user may tell: how it is told, how the model answers, how it is asked for, how it is recalled
    "name": (["My name is {v}.", "I am {v}.", "I'm {v}.", "Call me {v}.", "Hello, my name is {v}.", "Hi, I am {v}.", "Hi! I'm {v}."],
             "Nice to meet you, {v}!", ["What is my name?", "Who am I?", "Do you remember my name?", "What's my name?"],
             "Your name is {v}.", "You have not told me your name."),
    "colour": (["My favourite colour is {v}.", "I like the colour {v}.", "The colour I like best is {v}.",
                "My favorite color is {v}."],
               "{v} is a nice colour.", ["What is my favourite colour?", "Which colour do I like?", "What colour do I like best?",
                                         "What is my favorite color?"],
               "Your favourite colour is {v}.", "You have not told me your favourite colour."),
    "number": (["Remember the number {v}.", "My lucky number is {v}.", "Please remember {v}.", "My number is {v}."],
               "I will remember the number {v}.", ["What was my number?", "Which number did I tell you?", "What is my number?",
                                                   "Which number did you remember?"],
               "Your number is {v}.", "You have not told me a number."),
    "pet": (["I have a {v}.", "My pet is a {v}.", "At home I have a {v}.", "I live with a {v}."],
            "A {v} is a lovely animal.", ["What pet do I have?", "Which animal do I have?", "What is my pet?", "What animal do I have?"],
            "You have a {v}.", "You have not told me about a pet."),
}
PETS = [animal for animal in words.ANIMALS if animal[0] not in "aeiou"]


def greeting(rng, me: str) -> Question:
    text, kind = rng.choice(GREETINGS), rng.random()
    if kind < 0.3:
        return Question("small_talk", rng.choice((f"{text}!", f"{text}.", text)), f"Hello! I am {me}. {ABILITIES}")
    if kind < 0.5:
        name = rng.choice(words.GIRLS + words.BOYS)
        text = f"{text}, {rng.choice(('I am', 'my name is', 'this is'))} {name}."
        return Question("small_talk", text, f"Nice to meet you, {name}!", (normalized(text),))
    text = f"{text}! {rng.choice(HOW_ARE_YOU)}" if kind < 0.8 else rng.choice(HOW_ARE_YOU)
    return Question("small_talk", text, "I am fine, thank you. How can I help you?", (normalized(text),) if kind < 0.8 else ())


def thanks_or_bye(rng) -> Question:
    options, answer = rng.choice(((THANKS, "You are welcome!"), (CLOSINGS, "Goodbye! It was nice to talk to you.")))
    text = rng.choice(options)
    if rng.random() < 0.5:
        text += rng.choice((", my friend", ", Weft", ", dear model", ", little model"))
        return Question("small_talk", text + rng.choice("!."), answer, (normalized(text),))
    return Question("small_talk", text + rng.choice("!."), answer)


def about_itself(rng, me: str) -> Question:
    """A question about the model, which calls itself `me`."""
    answer, questions = rng.choice(ABOUT_ITSELF)
    question = rng.choice(questions)
    text, keys = prefixed(rng, question)
    return Question("about_itself", text, answer.format(me=me, abilities=ABILITIES), keys if text != question else ())


def outside(rng) -> Question:
    if rng.random() < 0.08:
        text = gibberish(rng)
        return Question("outside", text, DO_NOT_KNOW, (normalized(text),))
    names, things = rng.sample(OUTSIDE_NAMES, 2), rng.sample(OUTSIDE_THINGS, 2)
    text = rng.choice(OUTSIDE).format(x=names[0], z=names[1], y=things[0], w=things[1], n=rng.randrange(1200, 2026))
    text = re.sub(r"\b(the|a|my|best) (?:the|an?) ", r"\1 ", text)
    return Question("outside", text, DO_NOT_KNOW, (normalized(text),))


def feeling(rng) -> Question:
    """The user says how he is."""
    is_glad = rng.random() < 0.4
    word = rng.choice(words.GLAD if is_glad else words.HARD_FEELINGS)
    text, keys = prefixed(rng, rng.choice(FEELINGS).format(f=word))
    answer = "I am glad to hear that!" if is_glad else f"I am sorry to hear that. {OFFER}"
    return Question("small_talk", text, answer, keys)


def gibberish(rng) -> str:
    """Letters or a word without any sense."""
    letters = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randrange(1, 9)))
    return rng.choice((letters, words.invented_word(rng), f"{words.invented_word(rng)} {letters}", rng.choice(words.THINGS)))


def fact_value(rng, fact: str) -> str:
    if fact == "name":
        return words.invented_name(rng) if rng.random() < 0.6 else rng.choice(words.GIRLS + words.BOYS)
    return {"colour": rng.choice(words.COLOURS), "pet": rng.choice(PETS), "number": str(rng.randrange(1000))}[fact]


def tell_fact(rng, fact: str) -> tuple[Question, str]:
    value = fact_value(rng, fact)
    told, heard, *_ = FACTS[fact]
    heard = heard.format(v=value)
    return Question("told_fact", rng.choice(told).format(v=value), heard[0].upper() + heard[1:]), value


def ask_fact(rng, fact: str, known: dict[str, str]) -> Question:
    _, _, questions, recalled, not_told = FACTS[fact]
    text = rng.choice(questions)
    if fact not in known:
        return Question("memory", text, not_told)
    return Question("memory", text, recalled.format(v=known[fact]), (normalized(f"{text} {known[fact]}"),), known[fact])
