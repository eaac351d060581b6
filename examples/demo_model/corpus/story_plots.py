"""The plots: what happens in the stories, sentence by sentence, with the facts that can be asked about."""

from . import words
from .story_teller import Teller


def coloured_thing(t: Teller) -> None:
    """Chooses {thing}, {colour} and {other}, a thing that is not in the story; {a_thing} is 'a red key'."""
    pool = [thing for thing in words.THINGS if thing not in ("hat", "scarf")]  # those are clothes
    thing, colour, _ = t.choose("thing", pool), t.choose("colour", words.COLOURS), t.choose("other", pool)
    t.slots |= {"a_thing": words.a(f"{colour} {thing}"), "a_plain": words.a(thing), "an_other": words.a(t.slots["other"])}


def note_colour(t: Teller) -> None:
    t.note("colour", "The {thing} was {colour}.", "{colour}", "What colour was the {thing}?", "What color was the {thing}?",
           "Which colour did the {thing} have?")


def going_out(t: Teller, *options: str) -> None:
    """One day the hero goes to {place}."""
    t.choose("place", words.PLACES)
    if t.rng.random() < 0.7:
        weather, time = t.choose("weather", words.WEATHER), t.choose("time", words.TIMES)
        t.slots["day"] = f"one {weather} {time}"
        t.note("weather", "It was {weather}.", "{weather}", "What was the weather like?", "How was the weather?")
        t.note("time", "It was {time}.", "{time}", "What time of day was it?", "When did {A} go out?")
    else:
        t.slots["day"] = "one day"
    t.say(*options)
    t.note("place", "{A} went to the {place}.", "to the {place}", "Where did {A} go?", "Where did {A} go to?",
           "Which place did {A} visit?")


def meet_friend(t: Teller, *options: str) -> None:
    t.say(*options)
    t.note("friend_kind", "{B} was {a_friend}.", "{a_friend}", "What was {B}?",
           "Who was {B}?", "What kind of character was {B}?", "Who is {B}?")
    t.note("friend_name", "The {bkind}'s name was {B}.", "{B}", "What was the {bkind}'s name?", "What is the {bkind}'s name?",
           "What was the name of the {bkind}?", "What was the {bkind} called?")


def introduce(t: Teller) -> None:
    """The beginning of every story: who the hero is."""
    t.slots |= {"a_hero": words.a(t.hero.kind), "a_friend": words.a(t.friend.kind)}
    who = "{A}, {a_hero}"
    if t.rng.random() < 0.5:
        trait = t.choose("trait", words.TRAITS)
        t.slots["a_hero"] = words.a(f"{trait} {t.hero.kind}")
        t.note("trait", "{A} was {trait}.", "{trait}", "What was {A} like?", "How was {A} described?")
    t.say("Once upon a time, there was {a_hero} named {A}.", "Once upon a time, there was {a_hero} called {A}.",
          "There once was {a_hero} named {A}.", "This is the story of {A}, {a_hero}.", "{A} was {a_hero}.")
    t.slots["a_hero"] = words.a(t.hero.kind)
    t.note("who", f"The story is about {who}.", who, "Who is the story about?", "Who is this story about?",
           "Who is the hero of the story?")
    t.note("kind", "{A} was {a_hero}.", "{a_hero}", "What was {A}?", "What kind of character was {A}?", "Who was {A}?",
           "Who is {A}?")
    t.note("name", "The {akind}'s name was {A}.", "{A}", "What was the {akind}'s name?", "What is the {akind}'s name?",
           "What was the name of the {akind}?", "What was the {akind} called?")
    if t.rng.random() < 0.5:
        t.slots["home"] = f"in {words.a(t.choose('house', words.HOUSES))} {t.choose('where', words.SURROUNDINGS)}"
        t.say("{A} lived {home}.", "{He} lived {home}.", "{His} home was {home}.")
        t.note("home", "{A} lived {home}.", "{home}", "Where did {A} live?", "Where was {A}'s home?", "Where does {A} live?")
    if t.rng.random() < 0.2:
        t.choose("age", words.SMALL_NUMBERS[4:])
        t.say("{A} was {age} years old.", "{He} was {age} years old.")
        t.note("age", "{A} was {age} years old.", "{age}", "How old was {A}?", "What age was {A}?")


def clothes(t: Teller) -> None:
    """Who wears what: two colours that must not be mixed up."""
    if t.rng.random() < 0.25:
        t.choose("hat_colour", words.COLOURS)
        t.choose("scarf_colour", words.COLOURS)
        t.slots |= {"hat": words.a(t.slots["hat_colour"] + " hat"), "scarf": words.a(t.slots["scarf_colour"] + " scarf")}
        t.say("{A} wore {hat} and {B} wore {scarf}.", "{B} wore {scarf} and {A} wore {hat}.")
        t.note("clothes", "{A} wore {hat}.", "{hat}", "What did {A} wear?", "What was {A} wearing?")
        t.note("clothes", "{B} wore {scarf}.", "{scarf}", "What did {B} wear?", "What was {B} wearing?")
        t.note("clothes", "{A}'s hat was {hat_colour}.", "{hat_colour}", "What colour was {A}'s hat?")
        t.note("clothes", "{B}'s scarf was {scarf_colour}.", "{scarf_colour}", "What colour was {B}'s scarf?")


def meal(t: Teller) -> None:
    if t.rng.random() < 0.5:
        t.choose("food", words.FOODS)
        t.say("Then they ate {food} together.", "{A} and {B} sat down and ate {food}.", "They shared some {food}.",
              "To celebrate, they ate {food}.")
        t.note("food", "They ate {food}.", "{food}", "What did {A} and {B} eat?", "What did they eat?",
               "What food did they share?")


def conclude(t: Teller) -> None:
    """The end of every story: how the hero felt."""
    t.choose("glad", words.GLAD)
    t.say("{A} went to bed and felt {glad}.", "That night {A} felt {glad}.", "In the end, {A} felt {glad}.",
          "{A} felt very {glad}.", "At the end of the day, {A} was {glad}.")
    t.note("glad", "{A} felt {glad}.", "{glad}", "How did {A} feel at the end?", "How did {A} feel in the end?",
           "What was {A}'s feeling at the end?", "How did the story end?", "What happened at the end?")
    t.note("other", "The story is about {A} and {B}.", "{A} and {B}", "Who are the characters?", "Which characters are in the story?",
           "Who is in the story?")
    t.note("friend", "{A}'s friend was {B}.", "{B}", "Who was {A}'s friend?", "Who is {A}'s friend?")


def finds_something(t: Teller) -> None:
    coloured_thing(t)
    t.choose("spot", words.SPOTS)
    going_out(t, "{day}, {A} went to the {place}.", "{day}, {he} walked to the {place}.", "{day}, {A} took a walk to the {place}.")
    t.say("There {he} found {a_thing} {spot}.", "{spot}, {he} found {a_thing}.", "{He} looked around and found {a_thing} {spot}.")
    t.note("found", "{A} found {a_thing}.", "{a_thing}", "What did {A} find?", "What did {A} find at the {place}?",
           "What did {A} find there?")
    t.note("found", "The {thing} was {spot}.", "{spot}", "Where was the {thing}?", "Where did {A} find the {thing}?")
    note_colour(t)
    t.note("found", "{A} found the {thing}.", "{A}", "Who found the {thing}?", "Who found {a_plain}?")
    t.note("found", "Yes, {A} found {a_thing}.", "Yes", "Did {A} find {a_plain}?")
    t.note("found", "No, {A} found {a_thing}.", "No", "Did {A} find {an_other}?")
    t.say('"Who has lost this?" {he} asked.', '"I wonder whose {thing} this is," {he} said.', "{He} wondered whose it was.")
    meet_friend(t, "It belonged to {a_friend} named {B}.", "It was the {thing} of {B}, {a_friend}.")
    t.note("owner", "The {thing} belonged to {B}.", "{B}", "Who did the {thing} belong to?", "Whose {thing} was it?",
           "Who was the owner of the {thing}?")
    t.topics.add("gift")
    t.say("{A} gave the {thing} back, and {B} said thank you.", "{B} was very glad to have it back.")
    clothes(t)
    meal(t)


def loses_something(t: Teller) -> None:
    coloured_thing(t)
    t.choose("spot", words.SPOTS)
    t.choose("sad", words.SAD)
    t.say("{A} had {a_thing} and loved it very much.", "{His} favourite thing was {a_thing}.")
    note_colour(t)
    going_out(t, "{day}, {he} went to the {place} and lost it there.", "{day}, {A} lost it on a walk to the {place}.")
    t.note("lost", "{A} lost {a_thing}.", "{a_thing}", "What did {A} lose?", "What was lost?")
    t.note("lost", "{A} lost the {thing}.", "{A}", "Who lost the {thing}?", "Who lost {a_plain}?")
    t.say("{A} was {sad}.", "{He} felt {sad}.", "This made {him} {sad}.")
    t.note("sad", "{A} felt {sad}.", "{sad}", "How did {A} feel when the {thing} was lost?",
           "How did {A} feel without the {thing}?")
    meet_friend(t, "Then {B} came by, {a_friend} with sharp eyes.",
                "But {a_friend} called {B} wanted to help.")
    clothes(t)
    t.say("They searched for a long time, and {B} saw the {thing} {spot}.", "Together they looked everywhere. {B} saw the {thing} {spot}.")
    t.topics.add("found")
    t.note("seen", "The {thing} was {spot}.", "{spot}", "Where was the {thing}?", "Where did {B} see the {thing}?")
    t.note("seen", "{B} saw the {thing}.", "{B}", "Who saw the {thing}?", "Who helped {A}?", "Who saw where the {thing} was?")
    meal(t)


def gives_a_gift(t: Teller) -> None:
    coloured_thing(t)
    meet_friend(t, "{His} best friend was {B}, {a_friend}.", "{A} had a friend, {a_friend} called {B}.")
    t.say("It was {B}'s birthday.", "Soon it was {B}'s birthday.")
    t.note("birthday", "It was {B}'s birthday.", "{B}", "Whose birthday was it?", "Who had a birthday?")
    going_out(t, "{day}, {A} went to the {place} to look for a gift.", "{day}, {he} went to the {place} to get a present.")
    t.topics.add("found")
    t.say("There {he} got {a_thing}.", "{He} chose {a_thing}.", "{He} came back with {a_thing}.")
    note_colour(t)
    clothes(t)
    t.say("{A} gave it to {B}.", "{B} got it from {A} and smiled.", "When {A} gave it to {B}, everyone clapped.")
    t.note("gift", "{A} gave {B} {a_thing}.", "{a_thing}", "What did {A} give {B}?", "What gift did {B} get?",
           "What did {B} get from {A}?")
    t.note("gift", "Yes, {A} gave {B} {a_thing}.", "Yes", "Did {A} give {B} {a_plain}?")
    t.note("gift", "No, {A} gave {B} {a_thing}.", "No", "Did {A} give {B} {an_other}?")
    t.slots["number"] = t.rng.choice(words.SMALL_NUMBERS[3:])
    if t.rng.random() < 0.5:
        t.say("{number} guests came to the party.", "There were {number} guests at the party.")
        t.note("guests", "There were {number} guests.", "{number}", "How many guests were there?", "How many guests came?",
               "How many guests came to the party?")
    meal(t)


def hides_from_the_rain(t: Teller) -> None:
    t.choose("shelter", [place for place in words.PLACES if place in
                         ("old mill", "castle", "library", "bakery", "station", "museum", "cave", "lighthouse", "school", "theatre")])
    meet_friend(t, "{A} often played with {B}, {a_friend}.", "{A} knew {B}, {a_friend}.")
    t.choose("place", words.PLACES)
    t.say("One day they went to the {place}.", "One day, both of them walked to the {place}.")
    t.note("place", "{A} went to the {place}.", "to the {place}", "Where did {A} go?", "Where did {A} and {B} go?")
    clothes(t)
    t.say("Suddenly it began to rain.", "Then dark clouds came, and it began to rain.", "On the way, it began to rain hard.")
    t.note("weather", "It was rainy.", "rainy", "What was the weather like?", "How was the weather?")
    t.choose("sad", words.SAD)
    t.say("{B} was {sad}.", "{B} felt {sad}.")
    t.note("sad", "{B} felt {sad}.", "{sad}", "How did {B} feel in the rain?", "How did {B} feel?")
    t.say("They ran to the {shelter} and waited there.", "They hid in the {shelter} until the rain was over.")
    t.note("shelter", "They hid in the {shelter}.", "in the {shelter}", "Where did they hide?", "Where did they hide from the rain?",
           "Where did {A} and {B} wait?")
    t.choose("sight", ["rainbow", "bright star", "big moon", "flock of birds", "white cloud", "tiny snail"])
    t.slots["a_sight"] = words.a(t.slots["sight"])
    t.say("When it was over, {A} saw {a_sight}.", "After the rain, {A} saw {a_sight}.")
    t.note("sight", "{A} saw {a_sight}.", "{a_sight}", "What did {A} see?", "What did {A} see after the rain?")
    meal(t)


def plants_a_garden(t: Teller) -> None:
    t.choose("plants", words.PLANTS)
    t.choose("colour", words.COLOURS)
    t.slots["number"] = t.rng.choice(words.SMALL_NUMBERS[2:])
    t.say("In spring, {A} planted {plants}.", "{A} loved the garden and planted {plants} there.", "One day, {he} planted {plants}.")
    t.note("plants", "{A} planted {plants}.", "{plants}", "What did {A} plant?", "What did {A} plant in the garden?",
           "Which plants did {A} grow?")
    t.note("plants", "{A} planted {plants}.", "{A}", "Who planted {plants}?", "Who planted the {plants}?")
    meet_friend(t, "{B}, {a_friend}, brought water every day.",
                "Every day, {a_friend} named {B} brought water.")
    t.note("water", "{B} brought the water.", "{B}", "Who brought the water?", "Who brought water?", "Who helped {A}?")
    clothes(t)
    t.say("After {number} weeks, the garden was full.", "They waited {number} weeks, and then everything was big.")
    t.note("weeks", "It took {number} weeks.", "{number}", "How many weeks did it take?", "How many weeks did they wait?")
    t.say("They put it all into a big {colour} pot.", "They carried it home in a {colour} pot.")
    t.note("pot", "The pot was {colour}.", "{colour}", "What colour was the pot?", "What color was the pot?")
    meal(t)


def runs_a_race(t: Teller) -> None:
    t.choose("place", words.PLACES)
    t.choose("goal", words.PLACES)
    coloured_thing(t)
    meet_friend(t, "One day {he} met {B}, {a_friend}.", "{A} met {a_friend} called {B}.")
    t.say('"I can run faster than you," said {B}.', '"Let us have a race!" said {B}.', '"Shall we race?" asked {B}.')
    t.note("idea", "{B} wanted to race.", "{B}", "Who wanted to race?", "Whose idea was the race?")
    t.say("They ran from the {place} to the {goal}.", "The race went from the {place} to the {goal}.")
    t.note("place", "The race started at the {place}.", "at the {place}", "Where did the race start?", "Where did the race begin?")
    t.note("goal", "The race ended at the {goal}.", "at the {goal}", "Where did the race end?", "Where did the race finish?")
    clothes(t)
    t.slots["W"], t.slots["L"] = t.rng.sample([t.hero.name, t.friend.name], 2)
    t.say("{L} was fast, but {W} was faster and won.", "At the end, {W} won the race.", "{L} fell over a stone, so {W} won.")
    t.note("race", "{W} won the race.", "{W}", "Who won the race?", "Who was faster?", "Who was the winner?")
    t.topics.add("lost")
    t.note("race", "{L} lost the race.", "{L}", "Who lost the race?", "Who was slower?")
    t.say("The prize was {a_thing}.", "{W} got {a_thing} as a prize.")
    t.note("prize", "The prize was {a_thing}.", "{a_thing}", "What was the prize?", "What did the winner get?", "What prize did {W} get?")
    note_colour(t)
    meal(t)


def rescues_a_friend(t: Teller) -> None:
    t.choose("tool", ["rope", "ladder", "long stick", "net", "shovel", "lamp"])
    t.slots["a_tool"] = words.a(t.slots["tool"])
    t.choose("trap", ["deep hole", "thorny bush", "muddy ditch", "dark well", "big net", "narrow pipe"])
    t.slots["a_trap"] = words.a(t.slots["trap"])
    going_out(t, "{day}, {A} was on the way to the {place}.", "{day}, {he} walked to the {place}.")
    t.say("{He} heard someone call for help.", 'A voice cried, "Help me!"', "Suddenly {he} heard a small voice.")
    meet_friend(t, "It was {B}, {a_friend}, who was stuck in {a_trap}.",
                "{B}, {a_friend}, was stuck in {a_trap}.")
    t.note("stuck", "{B} was stuck in {a_trap}.", "in {a_trap}", "Where was {B} stuck?", "Where was {B}?", "What was {B} stuck in?")
    t.note("stuck", "{B} was stuck.", "{B}", "Who was stuck?", "Who called for help?", "Who needed help?")
    clothes(t)
    t.say("{A} fetched {a_tool} and got {B} out.", "{He} ran home, came back with {a_tool} and saved {B}.",
          "With {a_tool}, {A} pulled {B} out.")
    t.note("tool", "{A} used {a_tool}.", "{a_tool}", "What did {A} use?", "What did {A} use to help {B}?", "How did {A} save {B}?")
    t.note("saved", "{A} saved {B}.", "{A}", "Who saved {B}?", "Who helped {B}?")
    t.say("From then on, they were friends.", "They became good friends.", '"Thank you," said {B}.')
    meal(t)


def learns_something(t: Teller) -> None:
    t.choose("skill", words.SKILLS)
    t.choose("no_skill", words.SKILLS)
    t.choose("sad", words.SAD)
    t.slots["number"] = t.rng.choice(words.SMALL_NUMBERS[2:])
    t.say("{A} wanted to learn to {skill}.", "More than anything, {he} wanted to learn to {skill}.")
    t.note("skill", "{A} wanted to learn to {skill}.", "to {skill}", "What did {A} want to learn?", "What did {A} learn?",
           "What did {A} want to learn to do?")
    t.note("skill", "Yes, {A} wanted to learn to {skill}.", "Yes", "Did {A} want to learn to {skill}?")
    t.note("skill", "No, {A} wanted to learn to {skill}.", "No", "Did {A} want to learn to {no_skill}?")
    t.say("At first it was hard, and {he} felt {sad}.", "It did not work at first, and {A} was {sad}.")
    t.note("sad", "{A} felt {sad}.", "{sad}", "How did {A} feel at first?", "How did {A} feel at the beginning?")
    meet_friend(t, "{B}, {a_friend}, said: \"I will teach you.\"",
                "Then {a_friend} named {B} came to teach {him}.")
    t.note("teacher", "{B} taught {A}.", "{B}", "Who taught {A}?", "Who was {A}'s teacher?", "Who helped {A}?")
    clothes(t)
    t.choose("place", words.PLACES)
    t.say("They practised at the {place} for {number} days.", "For {number} days they practised at the {place}.")
    t.note("days", "They practised for {number} days.", "{number}", "How many days did they practise?", "How long did they practise?",
           "For how many days did they practise?")
    t.note("place", "They practised at the {place}.", "at the {place}", "Where did they practise?", "Where did {A} and {B} practise?")
    t.say("Then {A} could do it at last.", "At last it worked.", "And one day it worked.")
    meal(t)


def goes_shopping(t: Teller) -> None:
    coloured_thing(t)
    t.slots["number"] = t.rng.choice(words.SMALL_NUMBERS[2:])
    t.say("{A} had {number} coins.", "{A} had saved {number} coins.", "In {his} pocket, {A} had {number} coins.")
    t.note("coins", "{A} had {number} coins.", "{number}", "How many coins did {A} have?", "How many coins did {A} save?")
    going_out(t, "{day}, {he} went to the {place}.", "{day}, {A} walked to the {place}.")
    meet_friend(t, "{B}, {a_friend}, had a small shop there.",
                "There {a_friend} named {B} had a little shop.")
    t.note("shop", "{B} had a shop.", "{B}", "Who had a shop?", "Whose shop was it?", "Who was the seller?")
    clothes(t)
    t.say("{A} bought {a_thing}.", "{A} looked at everything and bought {a_thing}.", "{He} paid and bought {a_thing}.")
    t.topics.add("gift")
    t.note("bought", "{A} bought {a_thing}.", "{a_thing}", "What did {A} buy?", "What did {A} buy in the shop?",
           "What did {A} buy from {B}?")
    t.note("bought", "Yes, {A} bought {a_thing}.", "Yes", "Did {A} buy {a_plain}?")
    t.note("bought", "No, {A} bought {a_thing}.", "No", "Did {A} buy {an_other}?")
    note_colour(t)
    meal(t)


PLOTS = [finds_something, loses_something, gives_a_gift, hides_from_the_rain, plants_a_garden, runs_a_race, rescues_a_friend,
         learns_something, goes_shopping]
