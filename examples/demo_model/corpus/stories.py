"""Short stories about a hero and a friend, and the questions that each of them answers.

A plot (story_plots.py) says one sentence after another and notes the facts in them; the questions come from the facts.
Every fact has one wording as its answer, and a plot states no fact twice, so that each question has one right answer.
"""

from dataclasses import dataclass

from . import story_plots, words
from .question import Question
from .story_teller import Character, Teller

UNKNOWN = "The story does not say."
ASK_FOR_STORY = """Tell me a story{t}.|Tell me a short story{t}.|Can you tell me a story{t}?|Please tell me a story{t}.
|I would like to hear a story{t}.|Write a story{t}.|Write a short story{t}.|Could you tell me a story{t}, please?
|Story{t}, please.|Do you know a story{t}?|I want a story{t}.|Tell me another story{t}.|Make up a story{t}.""".replace(
    "\n", "").split("|")
GIVE_STORY = ["{s}\n\n{q}", "{s}\n{q}", "{s} {q}", "{q}\n\n{s}", "Here is a story. {s} {q}", "Read this story: {s}\n\n{q}",
              "Story: {s}\n\nQuestion: {q}", "Read the story and answer the question.\n\n{s}\n\n{q}",
              "Text: {s}\nQuestion: {q}"]
RECALL = ["{q}", "{q}", "{q}", "In the story, {q}", "And {q}", "Tell me, {q}"]
HEAR_STORY = ["Here is a story for you: {s}", "Listen: {s}", "Please read this story. {s}", "I will tell you a story. {s}",
              "This is my story.\n\n{s}"]
HEARD = "Thank you. What would you like to know about it?"
PERSONS = ["girl", "boy"]


@dataclass(frozen=True)
class Story:
    text: str
    title: str  # what the story is about: " about a fox named Mia"
    questions: list[Question]  # each of which the text answers
    unknown: list[Question]  # and which it does not
    names: tuple[str, str]  # the hero and the friend


def name_for(rng, kind: str, taken: tuple[str, ...]) -> str:
    pool = words.GIRLS if kind == "girl" else words.BOYS if kind == "boy" else words.GIRLS + words.BOYS
    while True:
        name = words.invented_name(rng) if rng.random() < 0.1 else rng.choice(pool)
        if name not in taken:
            return name


def character(rng, taken: tuple[str, ...] = ()) -> Character:
    kind = rng.choice(PERSONS if rng.random() < 0.35 else words.ANIMALS)
    name = name_for(rng, kind, taken)
    is_female = name in words.GIRLS or (name not in words.BOYS and rng.random() < 0.5)
    if kind in PERSONS and name not in words.GIRLS + words.BOYS:
        is_female = kind == "girl"
    return Character(name, kind, is_female)


def title(rng, teller: Teller) -> str:
    """How a request names what this story is about."""
    hero, friend = teller.hero, teller.friend
    forms = [f" about {words.a(hero.kind)}", f" about {hero.name}", f" about {words.a(hero.kind)} named {hero.name}",
             f" about {words.a(hero.kind)} called {hero.name}", f" about {hero.name} the {hero.kind}",
             f" about {hero.name} and {friend.name}", f" about {words.a(hero.kind)} and {words.a(friend.kind)}"]
    if "thing" in teller.slots:
        forms.append(f" about {words.a(teller.slots['thing'])}")
    if "place" in teller.slots:
        forms.append(f" about {words.a(hero.kind)} and the {teller.slots['place']}")
    return rng.choice(forms) if rng.random() < 0.8 else ""


def story(rng, taken: tuple[str, ...] = ()) -> Story:
    hero = character(rng, taken)
    friend = character(rng, (*taken, hero.name))
    while friend.kind == hero.kind:
        friend = character(rng, (*taken, hero.name))
    teller = Teller(rng, hero, friend)
    plot = rng.choice(story_plots.PLOTS)
    story_plots.introduce(teller)
    plot(teller)
    story_plots.conclude(teller)
    text = " ".join(teller.sentences)
    questions = [Question("story", rng.choice(fact.questions), fact.answer, brief=fact.brief) for fact in teller.facts]
    unknown = [Question("story_unknown", question, UNKNOWN) for question in teller.unknown_questions()]
    return Story(text, title(rng, teller), questions, unknown, (hero.name, friend.name))


def some_questions(rng, tale: Story, count: int) -> list[Question]:
    """Different questions about the story; about one in eight has no answer in it."""
    chosen = rng.sample(tale.questions, min(count, len(tale.questions)))
    return [rng.choice(tale.unknown) if rng.random() < 0.13 else question for question in chosen]


def about(tale: Story, question: Question, kind: str, text: str) -> Question:
    """The question as asked by `text`, held out by the story's words and its own."""
    kind = question.kind if question.kind == "story_unknown" else kind
    return Question(kind, text, question.answer, (f"{tale.text} {question.text}",), question.brief)


def lowered(text: str) -> str:
    """The question as it stands behind a comma."""
    return text[0].lower() + text[1:]


def recall(rng, tale: Story, question: Question) -> Question:
    form = rng.choice(RECALL)
    text = form.format(q=question.text if form == "{q}" else lowered(question.text))
    return about(tale, question, "story_later", text)


def told_story(rng, tale: Story) -> list[Question]:
    """The model tells the story and is asked about it."""
    ask = rng.choice(ASK_FOR_STORY).format(t=tale.title)
    turns = [Question("telling", ask, tale.text, is_story=True)]
    return turns + [recall(rng, tale, question) for question in some_questions(rng, tale, rng.randrange(5))]


def given_story(rng, tale: Story) -> list[Question]:
    """The user tells the story, with the first question or before it, and asks about it."""
    first, *others = some_questions(rng, tale, rng.randrange(2, 6))
    if rng.random() < 0.75:
        text = rng.choice(GIVE_STORY).format(s=tale.text, q=first.text)
        turns = [about(tale, first, "story_same_turn", text)]
    else:
        turns = [Question("story_heard", rng.choice(HEAR_STORY).format(s=tale.text), HEARD), recall(rng, tale, first)]
    return turns + [recall(rng, tale, question) for question in others]
